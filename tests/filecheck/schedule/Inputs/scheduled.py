"""Prints a program as `schedule-cpu` leaves it: kernels on memory and vectors.

Arguments: the file, and perhaps `--no-threads`.
"""

from __future__ import annotations

import sys

from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.frontend.check import check
from kina.frontend.source import Source

options = Options("x86-64-v3", threads="--no-threads" not in sys.argv)
print(lower(check(Source.read(sys.argv[1])), options).code)
