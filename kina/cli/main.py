"""`kina`: check, emit, build and run programs; each command loads only what it needs.

Every mistake of a user prints one diagnostic and exits with 1, without a traceback unless
`KINA_DEBUG=1`. Ctrl-C exits with 130, a closed pipe with 1, both quietly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kina.cli.programs import read_program
from kina.cli.streams import discard_output, prepare_streams, report
from kina.cli.warning import WarningMode, show
from kina.errors import KinaError, render_all
from kina.garbage import seldom_collect

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Compile and run programs of the Kina tensor language.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Stage(StrEnum):
    """What `emit` shows."""

    KINA = "kina"
    LINALG = "linalg"
    SCHEDULE = "schedule"
    LLVM = "llvm"
    ASM = "asm"


Program = Annotated[Path, typer.Argument(metavar="FILE", help="A .kina program, or - for stdin.")]
TargetOption = Annotated[
    str | None,
    typer.Option(
        help="native, x86-64 (a level for every CPU), x86-64-v2, -v3, -v4, aarch64-linux, "
        "riscv64-linux, x86_64-windows, aarch64-macos, x86_64-macos, wasm32."
    ),
]
Name = Annotated[str | None, typer.Option(help="The function [default: the last one].")]
Arguments = Annotated[
    list[str] | None,
    typer.Option(help="NAME=file.npy, NAME=random:SEED or NAME=number.", metavar="NAME=VALUE"),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(help="The size of a symbolic dimension, such as B=4.", metavar="NAME=N"),
]


Warned = Annotated[
    WarningMode, typer.Option("-W", "--warnings", help="What becomes of a program's warnings.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from kina.cli.version import versions

        print(versions())
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show versions."),
    ] = False,
) -> None:
    """What stands before a command."""


@app.command()
def check(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help=".kina programs, or - for stdin.")
    ],
    warned: Warned = WarningMode.SHOW,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was found as JSON (docs/language.md).")
    ] = False,
) -> int:
    """Report the errors of programs, or their functions' types."""
    from kina.cli.check import check_files

    return check_files(files, warned, as_json=as_json)


@app.command()
def fmt(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help=".kina programs, folders of them, or - for stdin."),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; say what would be, and exit with 1.")
    ] = False,
) -> int:
    """Lay out programs in the one way, with the same tokens and comments."""
    from kina.cli.fmt import format_files

    return format_files(files, check=check)


@app.command()
def emit(
    file: Program,
    to: Annotated[Stage, typer.Option(help="What to show.")] = Stage.LINALG,
    target: TargetOption = None,
) -> None:
    """Print a program as kina IR, linalg IR, kernels and their schedule, LLVM IR or assembly."""
    from kina.backend.options import Options
    from kina.backend.stages import emit as emit_stage

    print(emit_stage(read_program(file), to.value, Options(target or "native")), end="")


@app.command()
def explore(
    file: Program,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The page to write [default: ./FILE with .html]."),
    ] = None,
    target: TargetOption = None,
) -> None:
    """Write a page with a program and all that the compiler makes of it, linked line to line."""
    from kina.backend.options import Options
    from kina.cli.explore import explore_program

    explore_program(file, output, Options(target or "native"))


@app.command()
def build(
    file: Program,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="What to write: .so (shared library), .a (static library) or .o (object file); "
            ".dll, .dylib, .wasm for other systems [default: ./FILE with .so or such].",
        ),
    ] = None,
    target: TargetOption = None,
    threads: Annotated[bool, typer.Option(help="Use threads where the work is worth it.")] = True,
    prefix: Annotated[str, typer.Option(help="Put before each function's name.")] = "kina_",
    function: Annotated[
        list[str] | None,
        typer.Option(help="Export this function; repeatable [default: all but _private ones]."),
    ] = None,
    pkg_config: Annotated[
        bool, typer.Option("--pkg-config", help="Write a .pc file beside the library as well.")
    ] = False,
    npm: Annotated[
        bool, typer.Option("--npm", help="Write a package.json beside wasm32's module as well.")
    ] = False,
    warned: Warned = WarningMode.SHOW,
) -> None:
    """Write a library for C, and its header beside it; for wasm32 an ES module too."""
    from kina.backend.options import Options
    from kina.backend.targets import default_build_target
    from kina.cli.build import build_library

    functions = tuple(function or ())
    options = Options(target or default_build_target(), threads, prefix, functions=functions)
    build_library(file, output, options, warned, pkg_config=pkg_config, npm=npm)


@app.command()
def run(
    file: Program,
    fn: Name = None,
    arg: Arguments = None,
    size: Sizes = None,
    target: TargetOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A folder for the results (.npy).")
    ] = None,
    verify: Annotated[bool, typer.Option(help="Compare with the NumPy reference.")] = False,
    warned: Warned = WarningMode.SHOW,
) -> None:
    """Run a function, by default on seeded random inputs, and print what it gives."""
    from kina.backend.options import Options
    from kina.cli.progress import compiling
    from kina.runtime.loading import load_source

    # This command's own imports (NumPy) are made while the compiler's tools run.
    warn = partial(show, mode=warned)
    with compiling(file) as activity:
        source = read_program(file)
        options = Options(target or "native")
        module = load_source(source, options, "kina.cli.run", warn, activity)
    from kina.cli.run import run_function

    run_function(module, fn, arg or [], size or [], output, verify)


@app.command()
def test(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help=".kina programs with `// test:` lines.")
    ],
) -> int:
    """Run the examples that stand beside the code: `// test: f([1, 2]) == [3, 4]`."""
    from kina.cli.test import test_files

    return test_files(files)


@app.command()
def bench(
    file: Program,
    fn: Name = None,
    arg: Arguments = None,
    size: Sizes = None,
    threads: Annotated[
        int | None, typer.Option(help="[default: KINA_NUM_THREADS, or one per usable CPU].")
    ] = None,
    repeat: Annotated[int, typer.Option(help="How often each is timed.")] = 20,
) -> None:
    """Time a function against its NumPy reference and against the speed of memory."""
    from kina.cli.bench import bench_function

    bench_function(file, fn, arg or [], size or [], threads, repeat)


@app.command()
def lsp() -> None:
    """Serve an editor: errors, types, completion and more, over the language server protocol."""
    from kina.cli.lsp import serve

    serve()


@app.command()
def doctor() -> int:
    """Show which tools were found where, and what to install."""
    from kina.cli.doctor import report

    return report()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `kina` with `arguments` (default: the command line) and exit."""
    if arguments is None:
        prepare_streams()
        seldom_collect()
    try:
        status = _run(arguments)
        print(end="", flush=True)
    except OSError as error:
        discard_output()
        if not isinstance(error, BrokenPipeError):
            report(f"error: {error.filename or 'the output'}: {error.strerror}")
        status = 1
    sys.exit(status)


def _command(words: Sequence[str]) -> str:
    """The words whose help tells how to write `words`."""
    known = [info.callback.__name__ for info in app.registered_commands if info.callback]
    return " ".join(["kina", *(word for word in words[:1] if word in known)])


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return app(words or ["--help"], prog_name="kina", standalone_mode=False) or 0
    except KinaError as error:
        if os.environ.get("KINA_DEBUG") == "1":
            raise
        report(render_all(error.diagnostics))
    except typer.TyperException as error:
        report(f"error: {error.format_message()}\n  help: see {_command(words)} --help")
    except MemoryError as error:
        report(f"error: out of memory: {error}")
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return 1


if __name__ == "__main__":
    main()
