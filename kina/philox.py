"""The constants of Philox 4x32-10.

Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011. A counter of four 32-bit
words and a key of two give a block of four words.
"""

from __future__ import annotations

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
"""Of words 0 and 2 of the counter."""
STEPS = (0x9E3779B9, 0xBB67AE85)
"""What the words of the key grow by from round to round."""
