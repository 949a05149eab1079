"""The command lines `kina` and `kina-opt`."""
