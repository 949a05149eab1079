"""The one way to lay out a program: `kina fmt`."""
