"""`kina lsp`, driven over its real protocol: JSON-RPC on standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest

from kina.frontend.source import Source
from kina.lsp.analysis import analyse
from kina.lsp.features import hints

LAYERS = """type Layer = { w: tensor<F32, [D, D]>, b: tensor<F32, [D]> }
let norm = fn(x: tensor<F32, [T, D]>) -> tensor<F32, [T, D]> { x.softmax(axis=1) }
"""
MAIN = """import "layers.kina"
let step = fn(x: tensor<F32, [T, D]>, p: Layer<D=D>) -> tensor<F32, [T, D]> {
  let y = norm(x).matmul(p.w) in
  let (a, b) = (y, y + 1) in
  a * b - norm(y)
}
"""


class Client:
    """One server and what it was told."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "kina.cli.main", "lsp"]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self._numbers = count(1)
        self._diagnostics: dict[int, list[dict[str, Any]]] = {}
        uri = folder.as_uri()
        folders = [{"uri": uri, "name": "w"}]
        self.request("initialize", processId=None, rootUri=uri, capabilities={},
                     workspaceFolders=folders)  # fmt: skip
        self.notify("initialized")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.request("shutdown")
        self.notify("exit")
        self._server.communicate(timeout=60)
        assert self._server.returncode == 0

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._server.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        out = self._server.stdout
        assert out is not None
        length = 0
        while line := out.readline().strip():
            name, _, value = line.partition(b": ")
            length = int(value) if name == b"Content-Length" else length
        return json.loads(out.read(length))

    def notify(self, method: str, **params: object) -> None:
        """Send what needs no answer."""
        self._send({"method": method, "params": params})

    def request(self, method: str, **params: object) -> Any:
        """The answer; diagnostics that come before it are kept."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while (message := self._next()).get("id") != number:
            pass
        return message["result"] if "result" in message else message["error"]

    def errors(self, version: int) -> list[dict[str, Any]]:
        """The diagnostics of a version of the one file that is open."""
        while version not in self._diagnostics:
            self._next()
        return self._diagnostics[version]

    def _next(self) -> dict[str, Any]:
        message = self._receive()
        if message.get("method") == "textDocument/publishDiagnostics":
            self._diagnostics[message["params"].get("version")] = message["params"]["diagnostics"]
        return message

    def open(self, path: Path) -> str:
        """Open a file; its address."""
        uri = path.as_uri()
        item = {"uri": uri, "languageId": "kina", "version": 1, "text": path.read_text()}
        self.notify("textDocument/didOpen", textDocument=item)
        return uri

    def change(self, uri: str, version: int, text: str) -> None:
        """Write another text, without saving it."""
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", textDocument=document,
                    contentChanges=[{"text": text}])  # fmt: skip

    def at(self, method: str, uri: str, line: int, column: int, **more: object) -> Any:
        """Ask about a place."""
        place = {"line": line, "character": column}
        return self.request(
            f"textDocument/{method}", textDocument={"uri": uri}, position=place, **more
        )


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str, str]]:
    """A client with two files of which one is open, and their addresses."""
    folder = tmp_path_factory.mktemp("lsp")
    layers, main = folder / "layers.kina", folder / "main.kina"
    layers.write_text(LAYERS)
    main.write_text(MAIN)
    with Client(folder) as client:
        yield client, client.open(main), layers.as_uri()


Editor = tuple[Client, str, str]


def hovered(editor: Editor, line: int, column: int) -> str:
    found = editor[0].at("hover", editor[1], line, column)
    return found["contents"]["value"].split("\n")[1]


def places(found: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    starts = [(each["uri"].rpartition("/")[2], each["range"]["start"]) for each in found]
    return sorted((name, start["line"], start["character"]) for name, start in starts)


def test_hover_tells_types(editor: Editor) -> None:
    assert hovered(editor, 2, 6) == "y: tensor<F32, [T, D]>"
    assert hovered(editor, 2, 10) == "norm(x: tensor<F32, [T, D]>) -> tensor<F32, [T, D]>"
    assert hovered(editor, 2, 20) == "matmul(left, right)"
    assert hovered(editor, 2, 27) == "Layer: w: tensor<F32, [D, D]>"
    assert hovered(editor, 3, 10) == "b: tensor<F32, [T, D]>"
    assert hovered(editor, 4, 6) == "b: tensor<F32, [T, D]>"
    assert hovered(editor, 4, 4) == "tensor<F32, [T, D]>"


def test_definitions_and_references_cross_files(editor: Editor) -> None:
    client, main, layers = editor
    found = client.at("definition", main, 4, 12)
    assert found == {"uri": layers, "range": {"start": {"line": 1, "character": 4},
                                              "end": {"line": 1, "character": 8}}}  # fmt: skip
    context = {"includeDeclaration": True}
    found = client.at("references", main, 2, 10, context=context)
    assert places(found) == [("layers.kina", 1, 4), ("main.kina", 2, 10), ("main.kina", 4, 10)]
    # Asked in the other file, of which this one is only known to be in the workspace.
    found = client.at("references", layers, 1, 5, context=context)
    assert places(found) == [("layers.kina", 1, 4), ("main.kina", 2, 10), ("main.kina", 4, 10)]
    found = client.at("references", main, 1, 31, context=context)
    assert [place[1:] for place in places(found)] == [(1, 30), (1, 69)]


def test_rename(editor: Editor) -> None:
    client, main, _ = editor
    edits = client.at("rename", main, 3, 7, newName="first")["changes"]
    assert [edit["range"]["start"] for edit in edits[main]] == [
        {"line": 3, "character": 7}, {"line": 4, "character": 2}]  # fmt: skip
    edits = client.at("rename", main, 2, 10, newName="scale")["changes"]
    assert sum(map(len, edits.values())) == 3
    for new, message in {"b": "is bound in this program", "in": "is not a name"}.items():
        assert message in client.at("rename", main, 3, 7, newName=new)["message"]
    message = client.at("rename", main, 2, 20, newName="times")["message"]
    assert message == "`matmul` is an operation of the language"


def test_signatures(editor: Editor) -> None:
    client, main, _ = editor
    found = client.at("signatureHelp", main, 2, 27)
    assert found["signatures"][0]["label"] == "matmul(left, right)"
    assert found["activeParameter"] == 1
    found = client.at("signatureHelp", main, 2, 15)
    assert found["signatures"][0]["label"].startswith("norm(x: ")
    assert client.at("signatureHelp", main, 2, 3) is None


def test_inlay_hints(editor: Editor) -> None:
    client, main, _ = editor
    window = {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}}
    found = client.request("textDocument/inlayHint", textDocument={"uri": main}, range=window)
    assert [(each["position"], each["label"]) for each in found] == [
        ({"line": 2, "character": 7}, ": tensor<F32, [T, D]>")]  # fmt: skip


def words(found: dict[str, Any]) -> dict[str, str]:
    return {item["label"]: item["detail"] for item in found["items"]}


def test_completion_and_errors_while_typing(tmp_path: Path) -> None:
    (tmp_path / "layers.kina").write_text(LAYERS)
    path = tmp_path / "main.kina"
    path.write_text(MAIN)
    with Client(tmp_path) as client:
        uri = client.open(path)
        assert client.errors(1) == []
        client.change(uri, 2, MAIN.replace("norm(x).matmul(p.w)", "norm(x).matmul(p.)"))
        found = words(client.at("completion", uri, 2, 27))
        assert found["w"] == "tensor<F32, [D, D]>"
        assert "matmul" in found
        assert "x" not in found
        assert "expected the name of an operation" in client.errors(2)[0]["message"]
        client.change(uri, 3, MAIN.replace("a * b -", "a * ü -"))
        found = words(client.at("completion", uri, 4, 6))
        assert found["a"] == "a: tensor<F32, [T, D]>"
        assert {"norm", "Layer", "exp"} <= found.keys()
        client.change(uri, 4, MAIN.replace("a * b", "ü a * nothing"))
        first = client.errors(4)[0]
        assert (first["range"]["start"], first["severity"]) == ({"line": 4, "character": 2}, 1)
        # Places are counted in UTF-16, as editors do.
        client.change(uri, 5, MAIN.replace("a * b", "a /* 😀 */ nothing"))
        assert [each["range"]["start"]["character"] for each in client.errors(5)[:2]] == [4, 7]
        client.change(uri, 6, MAIN.replace("a * b", "a * nothing"))
        (error,) = client.errors(6)
        assert error["message"].startswith("unknown name `nothing`")
        assert error["range"] == {"start": {"line": 4, "character": 6},
                                  "end": {"line": 4, "character": 13}}  # fmt: skip
        client.change(uri, 7, MAIN.replace("layers", "none"))
        assert "none.kina: cannot read the file" in client.errors(7)[0]["message"]
        client.change(uri, 8, MAIN.replace("  let", " let").replace("F32,", "F32, "))
        (edit,) = client.request("textDocument/formatting", textDocument={"uri": uri},
                                 options={"tabSize": 2, "insertSpaces": True})  # fmt: skip
        assert edit["newText"] == MAIN


def test_every_prefix_of_a_program_is_understood() -> None:
    """What is being written is mostly wrong, and must never be more than that."""
    for end in range(0, len(LAYERS + MAIN), 3):
        analysis = analyse(Source("p", (LAYERS + MAIN.partition("\n")[2])[:end]))
        list(hints(analysis))
