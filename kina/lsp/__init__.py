"""The language server: what an editor asks about a program while it is written."""
