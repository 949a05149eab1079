"""lit's configuration: tests are .mlir and .kina files with RUN lines."""

import os
import sys
from pathlib import Path

import lit.formats

from kina.backend.toolchain import MLIR_OPT, find

config.name = "kina"  # noqa: F821  (lit defines `config`)
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".kina"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821

tools = Path(sys.executable).parent
config.environment["PATH"] = os.pathsep.join([str(tools), os.environ["PATH"]])  # noqa: F821
passed = (
    "HOME",
    "KINA_CACHE",
    "KINA_MLIR_OPT",
    "OPENBLAS_CORETYPE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH",
)
for name in passed:
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821

config.environment["KINA_VERIFY"] = "1"  # noqa: F821

mlir_opt = find(MLIR_OPT).path
# mlir-cpu-runner until LLVM 19
runners = [mlir_opt.with_name(name) for name in ("mlir-runner", "mlir-cpu-runner")]
mlir_runner = next((path for path in runners if path.exists()), runners[0])

config.substitutions += [  # noqa: F821
    ("KINA_ROUNDTRIP", "kina-opt %s --split-input-file | kina-opt --split-input-file"),
    (
        "KINA_GENERIC_ROUNDTRIP",
        "kina-opt %s --print-op-generic --split-input-file | kina-opt --split-input-file",
    ),
    ("%mlir_opt", str(mlir_opt)),
    ("%mlir_runner", str(mlir_runner)),
    ("KINA_INVALID", "kina-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file"),
]
