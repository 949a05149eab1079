"""What `tools/fuzz.py` is made of: what is tried, how inputs change, and which engine drives it."""
