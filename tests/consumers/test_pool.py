"""The threads of a compiled library: nothing that a process does to them ends it or hangs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from kina.backend.build import build
from kina.backend.options import Options
from kina.backend.threads import POOL, set_threads_of
from kina.frontend.source import Source
from kina.runtime.header import header
from kina.runtime.library import Library, set_threads

HERE = Path(__file__).parent
STRICT = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread")
SECONDS = 300
"""After which a program hangs."""

EVERYTHING = {
    *("parts", "together", "callers", "asleep", "nested", "forks"),
    *("limited", "settings", "signals", "cancelled", "exits", "small_stack"),
}
SANITIZERS = {
    "none": EVERYTHING,
    # They do not follow the fork of a process with threads, and have frames of their own on the
    # stack; one needs memory where none is left.
    "thread": EVERYTHING - {"forks", "small_stack"},
    "address,undefined": EVERYTHING - {"forks", "small_stack", "limited"},
}
PROGRAM = "let f = fn(x: tensor<F32, [N, M]>) -> tensor<F32, [N, M]> { x.log_softmax(axis=1) }\n"
LARGE = "x = np.random.default_rng(0).normal(0, 3, (256, 50257)).astype(np.float32)"


def compiled(folder: Path, source: Path, *flags: str | Path) -> Path:
    """A program of one file."""
    program = folder / source.stem
    command = ["cc", *STRICT, "-I", POOL.parent, "-o", program, source, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def has_sanitizer(folder: Path, name: str) -> bool:
    """Whether the compiler has the sanitizer's library, and the system runs it."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    command = ["cc", f"-fsanitize={name}", folder / "empty.c", "-o", folder / "empty"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return False
    return not subprocess.run([folder / "empty"], capture_output=True, check=False).returncode


def run(
    program: Path,
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
) -> str:
    """What it prints; it must end well and complain about nothing."""
    named = {"KINA_NUM_THREADS", "OMP_NUM_THREADS"}
    kept = {name: value for name, value in os.environ.items() if name not in named}
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**kept, **(environment or {})},
        preexec_fn=before,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module", params=SANITIZERS)
def stress(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The name of a sanitizer, and all scenarios compiled with it."""
    folder, name = tmp_path_factory.mktemp("stress"), str(request.param)
    if name != "none" and not has_sanitizer(folder, name):
        pytest.skip(f"this compiler has no sanitizer for {name}: not run")
    flags = [] if name == "none" else [f"-fsanitize={name}"]
    return name, compiled(folder, HERE / "pool_stress.c", *flags)


def test_scenarios(stress: tuple[str, Path]) -> None:
    sanitizer, program = stress
    for name in sorted(SANITIZERS[sanitizer]):
        run(program, name)


@pytest.fixture(scope="module")
def limits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder that the program takes for `/`, and the program."""
    root = tmp_path_factory.mktemp("root")
    define = f'-DKINA_ROOT="{root}"'
    return root, compiled(root, HERE / "pool_stress.c", define)


def numbers(limits: tuple[Path, Path], environment: Mapping[str, str] | None = None) -> list[int]:
    """CPUs of the quota (0 without one), usable CPUs, threads of a call."""
    return [int(word) for word in run(limits[1], "numbers", environment=environment).split()]


V1 = "/sys/fs/cgroup/cpu,cpuacct"
GROUPS: dict[str, tuple[dict[str, str], int]] = {
    "nothing": ({}, 0),
    "v2, no quota": (
        {"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "max 100000\n"},
        0,
    ),
    "v2": ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "300000 100000\n"}, 3),
    "v2, a fraction": (
        {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "250000 100000\n"},
        2,
    ),
    "v2, below one": ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "500 100000\n"}, 1),
    "v2, the one around it": (
        {
            "/proc/self/cgroup": "0::/a/b\n",
            "/sys/fs/cgroup/a/b/cpu.max": "900000 100000\n",
            "/sys/fs/cgroup/a/cpu.max": "200000 100000\n",
            "/sys/fs/cgroup/cpu.max": "max 100000\n",
        },
        2,
    ),
    "v1": (
        {
            "/proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/a\n",
            f"{V1}/a/cpu.cfs_quota_us": "400000\n",
            f"{V1}/a/cpu.cfs_period_us": "100000\n",
        },
        4,
    ),
    "v1, no quota": (
        {
            "/proc/self/cgroup": "4:cpu,cpuacct:/\n",
            f"{V1}/cpu.cfs_quota_us": "-1\n",
            f"{V1}/cpu.cfs_period_us": "100000\n",
        },
        0,
    ),
    "v1, seen from inside": (
        {
            "/proc/self/cgroup": "4:cpu,cpuacct:/docker/1234\n",
            f"{V1}/cpu.cfs_quota_us": "200000\n",
            f"{V1}/cpu.cfs_period_us": "100000\n",
        },
        2,
    ),
    "another controller": (
        {"/proc/self/cgroup": "4:cpuset:/\n", "/sys/fs/cgroup/cpuset/cpu.max": "100 100\n"},
        0,
    ),
    "nonsense": ({"/proc/self/cgroup": "x\n:::\n0::\n", "/sys/fs/cgroup/cpu.max": "a b\n"}, 0),
}


@pytest.mark.parametrize("case", GROUPS)
def test_quota_of_the_cgroup(limits: tuple[Path, Path], case: str) -> None:
    files, wanted = GROUPS[case]
    paths = [limits[0] / name.lstrip("/") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    try:
        cpus = len(os.sched_getaffinity(0))
        usable = min(cpus, wanted or cpus)
        assert numbers(limits) == [wanted, usable, usable]
    finally:
        for path in paths:
            path.unlink()


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"KINA_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"OMP_NUM_THREADS": " 6 "}, 6),
        ({"KINA_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
        ({"KINA_NUM_THREADS": "all", "OMP_NUM_THREADS": "5"}, 5),
        ({"KINA_NUM_THREADS": "999999999999999999999"}, 256),
        ({"KINA_NUM_THREADS": "0"}, None),
        ({"KINA_NUM_THREADS": "-2", "OMP_NUM_THREADS": ""}, None),
        ({"OMP_NUM_THREADS": "4x"}, None),
        ({}, None),
    ],
)
def test_threads_of_the_environment(
    limits: tuple[Path, Path], environment: Mapping[str, str], wanted: int | None
) -> None:
    cpus = len(os.sched_getaffinity(0))
    assert numbers(limits, environment) == [0, cpus, wanted or cpus]


def test_affinity(limits: tuple[Path, Path]) -> None:
    first = min(os.sched_getaffinity(0))
    shown = run(limits[1], "numbers", before=partial(os.sched_setaffinity, 0, {first}))
    assert shown == "0 1 1\n"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two libraries with functions of the same names."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "f.kina").write_text(PROGRAM)
    made = [folder / "one.so", folder / "two.so"]
    for library, target in zip(made, ((), ("--target", "native")), strict=True):
        command = [sys.executable, "-m", "kina.cli.main", "build", "f.kina", *target, "-o", library]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return made


@pytest.mark.parametrize("flag", ["-O1", "-fsanitize=address,undefined", "-fopenmp"])
def test_closing_a_library_ends_its_threads(
    libraries: list[Path], tmp_path: Path, flag: str
) -> None:
    """Right after a call and while they sleep; 1 to 4 threads give the same bits."""
    name = flag.removeprefix("-fsanitize=")
    if name != flag and not has_sanitizer(tmp_path, name):
        pytest.skip(f"this compiler has no sanitizer for {name}: not run")
    program = compiled(tmp_path, HERE / "pool_close.c", flag, "-ldl")
    failed, most, left = map(int, run(program, *libraries).split())
    assert (failed, left) == (0, 0)
    assert most == 3


def test_two_libraries_in_one_static_link(tmp_path: Path) -> None:
    """Their pools have the same inner names: one serves both."""
    for name in ("one", "two"):
        flags = ["-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
        macro = f"-DKINA_SET_THREADS={name}_set_threads"
        command = ["cc", *flags, macro, "-c", "-o", tmp_path / f"{name}.o", POOL]
        subprocess.run(command, check=True)
    source = tmp_path / "main.c"
    source.write_text(
        "#include <stdint.h>\n"
        "int32_t one_set_threads(int32_t count), two_set_threads(int32_t count);\n"
        "int64_t kina$threads(void);\n"
        "int main(void) {\n"
        "  if (one_set_threads(3) != 3 || kina$threads() != 3) return 1;\n"
        "  return two_set_threads(2) != 2 || kina$threads() != 2;\n"
        "}\n"
    )
    run(compiled(tmp_path, source, tmp_path / "one.o", tmp_path / "two.o"))


AS_LIMIT = f"""
import resource
import numpy as np, kina
m = kina.compile({PROGRAM!r})
{LARGE}
out = np.empty_like(x)
kina.set_num_threads(4)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 10), -1))
m.f(x, out=out)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
kina.set_num_threads(1)
print((m.f(x) == out).all())
"""
PROCESS_LIMIT = f"""
import os, resource
import numpy as np, kina
m = kina.compile({PROGRAM!r})
{LARGE}
kina.set_num_threads(4)
if os.getuid() == 0:
    os.setuid(65534)  # root is not bound by the limit
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
before = len(os.listdir("/proc/self/task"))
out = m.f(x)
assert len(os.listdir("/proc/self/task")) == before
kina.set_num_threads(1)
print((m.f(x) == out).all())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("script", [AS_LIMIT, PROCESS_LIMIT], ids=["memory", "processes"])
def test_where_no_thread_can_be_made(script: str) -> None:
    """`ulimit -v`, `ulimit -u`, the pids limit of a container: the caller computes alone."""
    assert run(Path(sys.executable), "-c", script) == "True\n"


FORKING = f"""
import os
import numpy as np, kina
m = kina.compile({PROGRAM!r})
{LARGE}
kina.set_num_threads(3)
wanted = m.f(x)
for _ in range(5):
    child = os.fork()
    if child == 0:
        for count in (3, 1, 2):
            kina.set_num_threads(count)
            if not (m.f(x) == wanted).all():
                os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (m.f(x) == wanted).all()
del m
print("ended")
"""


def test_forks_in_python() -> None:
    assert run(Path(sys.executable), "-W", "ignore", "-c", FORKING) == "ended\n"


NAMES = (
    "let set_threads = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x + x }\n"
    "let set_threads_ = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x + 1.0 }\n"
)


def test_functions_of_the_same_name_keep_it(tmp_path: Path) -> None:
    """Ours gets out of the way, and Python finds it there."""
    source = Source("names.kina", NAMES)
    artifact = build(source, Options("native"))
    assert set_threads_of(artifact.functions) == "kina_set_threads__"
    (tmp_path / "names.h").write_text(header(artifact.functions))
    main = tmp_path / "main.c"
    main.write_text(
        '#include "names.h"\n'
        "int main(void) {\n"
        "  float x = 2, y = 0, z = 0;\n"
        "  kina_set_threads(1, &x, &y);\n"
        "  kina_set_threads_(1, &x, &z);\n"
        "  return y != 4 || z != 3 || kina_set_threads__(3) != 3;\n"
        "}\n"
    )
    folder = artifact.library.parent
    run(compiled(tmp_path, main, f"-I{tmp_path}", artifact.library, f"-Wl,-rpath,{folder}"))
    assert Library(artifact.library, "kina_set_threads__").set_threads(2) == 2


def test_python_sets_it_for_all_libraries(libraries: list[Path]) -> None:
    """Also for those that are opened later; without threads there is only one."""
    one = Library(libraries[0], "kina_set_threads")
    alone = Library(libraries[0])
    try:
        assert set_threads(3) == 3
        two = Library(libraries[1], "kina_set_threads")
        assert alone.set_threads(5) == 1
        assert one.set_threads(4) == 4
        assert set_threads(0) == two.set_threads(0)
    finally:
        set_threads(0)
