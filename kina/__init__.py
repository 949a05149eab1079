"""Kina: a small statically typed tensor language for losses and decoders."""
