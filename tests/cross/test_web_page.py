"""`examples/web`: the story model in a page writes the tokens that Python writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kina.backend.toolchain import ZIG, is_there

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE, STORYLM0 = ROOT / "examples" / "web", ROOT / "examples" / "storylm0"
BROWSER = Path(__file__).with_name("page.mjs")
SENT = (
    *("index.html", "page.mjs", "writer.mjs"),
    *("weights.safetensors", "story.wasm", "story.mjs"),
)
BEGUN = "The heron stood in the water and "
WRITE = """
import json, sys
from page_writer import Writer
writer = Writer()
for prompt, size, seed, temperature in json.loads(sys.argv[1]):
    print(*writer.write(prompt.encode(), size, seed, temperature))
"""
IN_NODE = """
import { readFile } from "node:fs/promises";
import { Writer } from "./writer.mjs";
const file = await readFile("weights.safetensors");
const writer = await Writer.load(file.buffer.slice(file.byteOffset, file.byteOffset + file.length));
for (const [prompt, size, seed, temperature] of JSON.parse(process.argv[2])) {
  const bytes = new TextEncoder().encode(prompt);
  console.log([...writer.write(bytes, size, seed, Math.fround(temperature))].join(" "));
}
for (const [prompt, size] of [["", 1], ["x", 512]]) {
  try {
    [...writer.write(new TextEncoder().encode(prompt), size, 1, 1)];
  } catch (error) {
    console.log(`${error.name}: ${error.message}`);
  }
}
"""
Text = tuple[str, int, int, float]


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here: not run")
    if not is_there(ZIG):
        pytest.skip("zig is not installed (pip install 'kina[cross]'): not run")


def in_python(*texts: Text) -> list[str]:
    """What the same weights write in Python."""
    command = [sys.executable, "-c", WRITE, json.dumps(texts)]
    done = subprocess.run(command, cwd=STORYLM0, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, put together."""
    needs()
    folder = tmp_path_factory.mktemp("page") / "web"
    command = [sys.executable, EXAMPLE / "build.py", "-o", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the folder, as static files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_page_is_small(folder: Path) -> None:
    assert sum((folder / name).stat().st_size for name in SENT) < 200_000


def test_node_writes_what_python_writes(folder: Path) -> None:
    needs("node")
    texts: list[Text] = [
        (BEGUN, 60, 7, 0.6),
        (BEGUN + "again ", 40, -(2**40), 1.3),
        ("x", 30, 2**40, 0.25),
        (BEGUN * 14, 40, 0, 0.6),
    ]
    (folder / "write.mjs").write_text(IN_NODE)
    done = subprocess.run(
        ["node", "write.mjs", json.dumps(texts)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *written, empty, long = done.stdout.splitlines()
    assert written == in_python(*texts)
    assert len(set(written)) == len(texts)
    for line in (empty, long):
        assert line == "RangeError: expected 1 byte at least, and 512 at most with what follows"


def test_a_browser_writes_what_python_writes(folder: Path, tmp_path: Path) -> None:
    """Typed into the page: the text, another seed, and Tab, which keeps what was written."""
    needs("node", "npm", "chromium")
    install = ["npm", "install", "--silent", "--prefix", tmp_path, "playwright-core@1"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"playwright-core could not be installed: {done.stderr.strip()[:200]}")
    playwright = tmp_path / "node_modules" / "playwright-core" / "index.js"
    picture = tmp_path / "page.png"
    with served(folder) as address:
        done = subprocess.run(
            ["node", BROWSER, playwright, shutil.which("chromium") or "", address, picture],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["failures"] == []
    assert (shown["ready"], shown["kept"]) == ("yes", True)
    typed = "The old goat "
    wanted = in_python((BEGUN, 160, 7, 0.6), (typed, 160, 7, 0.6), (typed, 160, 8, 0.6))
    assert [shown["first"], shown["typed"], shown["seed"]] == wanted
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.sweep
def test_training_gives_the_weights_that_are_here(tmp_path: Path) -> None:
    made = tmp_path / "weights.safetensors"
    command = [sys.executable, STORYLM0 / "train_page.py", "-o", made]
    subprocess.run(command, check=True, capture_output=True)
    assert made.read_bytes() == (EXAMPLE / "weights.safetensors").read_bytes()
