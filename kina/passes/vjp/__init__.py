"""The rules of `transform-ad`: one vector-Jacobian product per operation, a file per family."""
