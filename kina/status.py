"""What a compiled function returns: its status."""

OK = 0
"""Every check held; the outputs are written."""

OUT_OF_MEMORY = -1
"""The temporaries could not be allocated. Positive: the number of the check that failed first."""

BAD_SIZE = -2
"""A size is too small: an axis is empty that must not be, or a computed size is below 0."""

STATUS = "status"
"""The attribute of a `cf.assert` that names the status to return where it fails."""
