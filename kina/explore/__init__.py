"""A program through the compiler, as one page: `kina explore`."""
