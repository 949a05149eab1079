"""Kina side by side with the libraries that a user would pick instead.

`python benchmarks/run.py` runs everything; `docs/benchmarks.md` says how it measures. This file
makes it a package that hides one of the same name, which a dependency of Kina installs.
"""
