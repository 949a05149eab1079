"""Installs the libraries that Kina is compared with: `python tools/peers.py torch jax`.

They go into an environment of their own, which sees everything of the one that runs this. What
will be fetched, and how much, is said before; each library has a deadline; one that cannot be
installed is left out, and the last lines say why. Exits with 0 all the same.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
# On Linux PyPI's PyTorch brings 2.7 GB of CUDA along. This version exists for CPUs alone.
TORCH = "torch==2.13.0+cpu" if sys.platform == "linux" else "torch==2.13.0"


@dataclass(frozen=True, slots=True)
class Peer:
    """A library: what pip installs, about how many megabytes of it, and from where but PyPI."""

    module: str
    requirements: tuple[str, ...]
    megabytes: int
    index: str | None = None


PEERS: Mapping[str, Peer] = {
    "torch": Peer("torch", (TORCH,), 210, TORCH_INDEX),
    "jax": Peer("jax", ("jax>=0.5",), 130),
    "numba": Peer("numba", ("numba>=0.62",), 65),
    "onnxruntime": Peer("onnxruntime", ("onnxruntime>=1.20", "onnx>=1.17"), 40),
    "matplotlib": Peer("matplotlib", ("matplotlib>=3.9",), 25),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Install what is asked for and missing, and say what came of it."""
    options = _parser().parse_args(arguments)
    python = _environment(options.venv)
    missing = [name for name in options.peers if not _has(python, PEERS[name].module)]
    if missing:
        print(_plan(missing, options), flush=True)
    problems = {name: _install(python, PEERS[name], options) for name in missing}
    for name in options.peers:
        problem = problems.get(name)
        print(f"{name}: left out: {problem}" if problem else f"{name}: installed", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", nargs="+", choices=PEERS, metavar="PEER", help=", ".join(PEERS))
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv-peers", metavar="FOLDER")
    parser.add_argument("--deadline", type=float, default=300, help="seconds for each library")
    parser.add_argument("--torch-index", default=TORCH_INDEX, metavar="URL")
    return parser


def _environment(folder: Path) -> Path:
    """The Python of the peers' environment, which is made when it is not there."""
    paths = {"base": str(folder), "platbase": str(folder)}
    python = Path(sysconfig.get_path("scripts", "venv", vars=paths)) / "python"
    link = Path(sysconfig.get_path("purelib", "venv", vars=paths)) / "kina-environment.pth"
    if link.exists():
        return python
    venv.create(folder, with_pip=True)
    here = sysconfig.get_path("purelib")
    link.write_text(f"import site; site.addsitedir({here!r})\n", encoding="utf-8")
    return python


def _has(python: Path, module: str) -> bool:
    code = f"import sys, importlib.util as u; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def _plan(names: Sequence[str], options: argparse.Namespace) -> str:
    parts = [f"{name} ({PEERS[name].megabytes} MB)" for name in names]
    total = sum(PEERS[name].megabytes for name in names)
    where = f"; PyTorch for CPUs from {options.torch_index}" if "torch" in names else ""
    bound = f"at most {options.deadline:g} s each, and what cannot be had is left out"
    return f"Downloading {', '.join(parts)}, {total} MB in all, into {options.venv}: {bound}{where}"


def _install(python: Path, peer: Peer, options: argparse.Namespace) -> str | None:
    """Install a library; returns why it could not be done."""
    index, unreachable = _index(peer, options.torch_index)
    # Wheels only, and no patience with an index that does not answer.
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    limits = ["--only-binary=:all:", "--retries=1", "--timeout=15"]
    try:
        done = subprocess.run(
            [*pip, *limits, *index, *peer.requirements],
            check=False,
            stderr=subprocess.PIPE,
            text=True,
            timeout=options.deadline,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {options.deadline:g} s"
    return None if done.returncode == 0 else f"{_last_error(done.stderr)}{unreachable}"


def _index(peer: Peer, url: str) -> tuple[list[str], str]:
    """pip's option for a library's own index, or what to say when that cannot be reached.

    pip would try such an index anew for each requirement, minutes in all.
    """
    if peer.index is None:
        return [], ""
    try:
        with urlopen(url, timeout=10):
            return [f"--extra-index-url={url}"], ""
    except (URLError, OSError, ValueError) as error:
        return [], f" ({url} cannot be reached: {error})"


def _last_error(text: str) -> str:
    """The last error that pip printed."""
    errors = [line for line in text.splitlines() if line.startswith("ERROR: ")]
    return errors[-1].removeprefix("ERROR: ") if errors else "pip failed without a message"


if __name__ == "__main__":
    main()
