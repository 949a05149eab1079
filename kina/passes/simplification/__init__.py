"""The parts of `simplify-kina`."""
