"""The type rules, one file per family; `infer` finds the rule of an operation.

The front end turns their errors into diagnostics, the dialect's verifiers into theirs.
"""
