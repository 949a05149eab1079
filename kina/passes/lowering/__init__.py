"""How each family of kina operations becomes linalg on builtin tensors (see `lower-kina`)."""
