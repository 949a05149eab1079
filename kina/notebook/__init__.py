"""Kina in IPython and Jupyter: `%load_ext kina`."""
