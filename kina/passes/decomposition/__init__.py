"""Patterns of `decompose-kina`, a file per family of operations."""
