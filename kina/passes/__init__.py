"""The compiler's passes: one file per pass, file name = pass name."""
