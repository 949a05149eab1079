"""Loading a library, checking arguments, calling it."""
