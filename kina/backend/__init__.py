"""From lowered IR to a shared library: tools, pass pipeline, cache."""
