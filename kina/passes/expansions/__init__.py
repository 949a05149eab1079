"""The arithmetic of `expand-math`: one function of floats per file."""
