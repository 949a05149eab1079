"""`kina lsp`: the language server, where its library is installed."""

from __future__ import annotations

from importlib.util import find_spec

from kina.errors import KinaToolchainError


def serve() -> None:
    """Answer an editor over standard input and output until it ends."""
    if find_spec("pygls") is None:
        raise KinaToolchainError(
            "the language server needs pygls, which is not installed: pip install 'kina[lsp]'"
        )
    from kina.lsp.server import serve as serve_io

    serve_io()
