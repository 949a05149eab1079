"""What a compiled function returns: its status."""

OK = 0
"""Every check held; the outputs are written."""

OUT_OF_MEMORY = -1
"""The temporaries could not be allocated. Positive: the number of the check that failed first."""
