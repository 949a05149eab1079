"""`kina-opt`: xDSL's optimiser driver with the kina dialect, passes and front end.

Everything `xdsl-opt` takes works; `--pass` is a second spelling of `--passes`, and all of them run
in the order given. What it prints it reads. Whatever goes wrong prints one diagnostic with its
place and exits with 1; the traceback shows with `KINA_DEBUG=1`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipelineCallbackType
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from kina.backend.ir_text import ReadableTarget
from kina.cli.files import write
from kina.cli.opt_errors import Stage, explain
from kina.cli.streams import STDIN, discard_output, prepare_streams, read_stdin, report
from kina.errors import Diagnostic, KinaValueError, Note, render_all
from kina.frontend.mlir_text import MAX_IR_BYTES, MlirText
from kina.garbage import seldom_collect

_MLIR = "mlir"


class KinaOptMain(xDSLOptMain):
    """xDSL's driver; the universe entry point has registered Kina already."""

    version_format = "kina-opt built from xdsl version {xdsl_version}"
    stage = Stage("read")

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """xDSL's own options, but that passes add up, and `--pass`; a short usage."""
        arg_parser.usage = "%(prog)s [options] [FILE], see %(prog)s --help"
        super().register_all_arguments(_AddingPasses(arg_parser))

    def register_all_targets(self) -> None:
        """xDSL's targets, with MLIR text that can be read back."""
        super().register_all_targets()
        self.available_targets[_MLIR] = lambda: ReadableTarget

    def setup_pipeline(self) -> None:
        """xDSL's pipeline, which keeps in `stage` what is being done."""
        super().setup_pipeline()
        self.pipeline = replace(self.pipeline, callback=self._watch(self.pipeline.callback))

    def _watch(self, callback: PassPipelineCallbackType | None) -> PassPipelineCallbackType:
        def watch(before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
            self.stage = replace(self.stage, name="verify", module=module)
            if callback is not None:
                callback(before, module, after)
            self.stage = replace(self.stage, name="print" if after is None else after.name)

        return watch

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """All of the input, unless it is too large, and the front end that its name asks for."""
        name = self.get_input_name()
        extension = _MLIR if name == STDIN else os.path.splitext(name)[1].removeprefix(".")
        frontend = parse_spec(self.args.frontend).name if self.args.frontend else extension
        if frontend not in self.available_frontends:
            known = ", ".join(sorted(self.available_frontends))
            note = Note(f"there are {known}; -f chooses one for a file of any name")
            message = f"{name}: no front end reads a file that ends in '.{extension}'"
            raise KinaValueError(Diagnostic(message, notes=(note,)))
        return BytesIO(_read(name)), frontend

    def get_input_name(self) -> str:
        """The file's name as given; `<stdin>` without one, or for `-`."""
        given: str | None = self.args.input_file
        return STDIN if given is None or given == "-" else given

    def prepare_output(self) -> IO[str]:
        """A buffer, because a file is written only when all went well."""
        self._output = _Output()
        return self._output

    def run(self) -> None:
        """Read, run the passes and write; nothing is written if anything fails."""
        super().run()
        self.stage = Stage("write")
        name: str | None = self.args.output_file
        if name is None or name == "-":
            print(self._output.text, end="")
        else:
            _write(Path(name), self._output.text)

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        """Read a part of the input; `.mlir` text by the reader that gives every failure a place."""
        self.stage = Stage("read")
        if file_extension != _MLIR:
            return super().parse_chunk(chunk, file_extension, start_offset)
        reader = replace(
            MlirText.from_spec(parse_spec(self.args.frontend or _MLIR)),
            no_implicit_module=self.args.no_implicit_module,
            line_offset=start_offset,
            places=self.stage.places,
        )
        return reader.parse(self.ctx, chunk, self.get_input_name())


class _Output(StringIO):
    """A buffer whose text is still there when it is closed."""

    text = ""

    def close(self) -> None:
        """Keep the text."""
        if not self.closed:
            self.text = self.getvalue()
        super().close()


class _AddingPasses(argparse.ArgumentParser):
    """Hands options on to another parser; xDSL's `--passes` adds up there, and is `--pass` too."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(add_help=False)
        self._parser = parser

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        """Add one option to the other parser."""
        if "--passes" in names:
            names, settings = (*names, "--pass"), {**settings, "action": _AddPasses}
        return self._parser.add_argument(*names, **settings)


class _AddPasses(argparse.Action):
    """Each time `--pass` is given, its passes run after those before."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Append to what is there."""
        pipelines = [getattr(namespace, self.dest), values]
        setattr(namespace, self.dest, ",".join(str(text) for text in pipelines if text))


def _read(name: str) -> bytes:
    if name == STDIN:
        return read_stdin(MAX_IR_BYTES + 1)
    try:
        with open(name, "rb") as file:
            return file.read(MAX_IR_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise KinaValueError(f"{name}: cannot read the file: {reason}") from None


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.is_file():
        write(path, text.encode(), 0o666)
        return
    # A device or a pipe, /dev/null for one, is written to and not replaced.
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise KinaValueError(f"{path}: cannot write the file: {error.strerror}") from None


def main(args: Sequence[str] | None = None) -> None:
    """Run `kina-opt` with `args` (default: the command line)."""
    if args is None:
        prepare_streams()
        seldom_collect()
    try:
        status = _run(args)
        print(end="", flush=True)
    except OSError as error:
        discard_output()
        if not isinstance(error, BrokenPipeError):
            report(Diagnostic(f"{error.filename or 'the output'}: {error.strerror}").render())
        status = 1
    if status:
        sys.exit(status)


def _run(args: Sequence[str] | None) -> int:
    """The exit status; one diagnostic for everything that goes wrong, but the output itself."""
    driver: KinaOptMain | None = None
    try:
        driver = KinaOptMain("Kina modular optimizer driver", args)
        driver.run()
    except KeyboardInterrupt:
        return 130
    except SystemExit as leaving:
        return int(bool(leaving.code))
    except OSError:
        raise
    except (Exception, ArgSpecParseError) as error:
        if os.environ.get("KINA_DEBUG") == "1":
            raise
        stage = Stage("options") if driver is None else driver.stage
        report(render_all(explain(error, stage)))
        return 1
    return 0


if __name__ == "__main__":
    main()
