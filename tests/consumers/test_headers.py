"""Every header is taken by every compiler, whatever stands before it and whatever names it has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kina.backend.c_names import check_symbols
from kina.backend.metadata import CompiledFunction
from kina.errors import KinaError, KinaValueError, Span
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.runtime.header import header

ROOT = Path(__file__).parents[2]
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")
MODES = {
    "c99": ("cc", "-std=c99", "-x", "c"),
    "c11": ("cc", "-std=c11", "-x", "c"),
    "c23": ("cc", "-std=c2x", "-x", "c"),
    "c++17": ("c++", "-std=c++17", "-x", "c++"),
}
# All of C's headers that C++ takes as well, and the ones of POSIX and glibc with the most macros.
HEADERS = """
    assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h
    setjmp.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h tgmath.h time.h
    uchar.h wchar.h wctype.h arpa/inet.h dirent.h dlfcn.h endian.h fcntl.h glob.h langinfo.h
    libgen.h net/if.h netdb.h netinet/in.h netinet/tcp.h poll.h pthread.h pwd.h regex.h sched.h
    search.h semaphore.h spawn.h strings.h sys/ioctl.h sys/ipc.h sys/mman.h sys/param.h
    sys/resource.h sys/select.h sys/socket.h sys/stat.h sys/sysmacros.h sys/time.h sys/types.h
    sys/un.h sys/wait.h syslog.h termios.h ucontext.h unistd.h utmpx.h wordexp.h
"""
EVERYTHING = "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n" + "".join(
    f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in HEADERS.split()
)
WORDS = """
    _Bool _Complex _Imaginary _Atomic _Generic _Noreturn _Static_assert _Alignas _Thread_local
    _BitInt _Decimal32 _Float16 _Pragma __func__ __FUNCTION__ __FILE__ __FILE_ __FILE __LINE__
    __DATE__ __TIME__ __STDC__ __cplusplus __VA_ARGS__ __attribute__ __asm__ __restrict __inline
    __int128 __typeof__ __has_include defined asm auto bool case char char8_t class co_await concept
    const constexpr consteval constinit decltype default delete double enum errno explicit export
    extern false final float for goto if import inline int int_ long module mutable namespace new
    noexcept NULL nullptr operator override private protected public register requires restrict
    return short signed sizeof static stdin stdout stderr struct switch template this thread_local
    throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void
    volatile wchar_t while xor I complex imaginary B0 B50 ECHO INFINITY NAN INT8_MAX EOF BUFSIZ
    assert isnan exp log offsetof va_arg setjmp major minor linux unix i386 stat s6_addr st_atime
    sa_handler int32_t int64_t uint8_t int8_t out out_ out0 status kina_status x x_ x__
"""


def functions(text: str, prefix: str) -> list[CompiledFunction]:
    """What a header needs to know of a program."""
    program = check(Source("t.kina", text))
    return [
        CompiledFunction(
            program.exported[name],
            prefix + name,
            prefix + symbol,
            ('a \\ "check" ?? é',),
            (),
        )
        for name, symbol in program.symbols.items()
    ]


def compiles(folder: Path, mode: str, headers: Sequence[str], before: str = "") -> None:
    for number, text in enumerate(headers):
        (folder / f"{number}").mkdir(exist_ok=True)
        (folder / f"{number}" / "same.h").write_text(text)
    lines = [before, *(f'#include "{number}/same.h"' for number in range(len(headers)))]
    (folder / "main.c").write_text("\n".join(lines * 2) + "\nint main(void) { return 0; }\n")
    command = [*MODES[mode], *STRICT, folder / "main.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def programs() -> list[str]:
    """Every program of the repository that is one."""
    found = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("[et]*/**/*.kina"))]
    for page in sorted(ROOT.glob("docs/*.md")):
        text = page.read_text(encoding="utf-8")
        found += re.findall(r"^```kina\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


@pytest.fixture(scope="module")
def headers() -> list[str]:
    made: list[str] = []
    for number, text in enumerate(programs()):
        try:
            made.append(header(functions(text, f"p{number}_")))
        except KinaError:
            continue
    assert len(made) > 40
    return made


@pytest.mark.parametrize("mode", MODES)
def test_headers_of_all_programs(mode: str, headers: list[str], tmp_path: Path) -> None:
    compiles(tmp_path, mode, headers, EVERYTHING)


@pytest.fixture(scope="module")
def worst() -> str:
    """Parameters and sizes of all names that anybody has taken."""
    words = [word for word in dict.fromkeys(WORDS.split()) if word not in ("in", "fn", "let")]
    symbols = ", ".join(f"{word}: tensor<F32, [{word}]>" for word in words)
    result = f"(tensor<F32, [{words[0]}]>, tensor<F32, [{words[0]}]>)"
    return f"let f = fn({symbols}) -> {result} {{ ({words[0]}, {words[0]} + 1.0) }}"


@pytest.mark.parametrize("mode", MODES)
def test_parameters_of_any_name(mode: str, worst: str, tmp_path: Path) -> None:
    """Also after a program of the user's has made macros of them all, as a C program may of `N`."""
    text = header(functions(worst, "kina_"))
    for name in WORDS.split():
        assert f"int64_t /* {name} */" in text
        assert f"const float * /* {name}: F32 [{name}] */" in text
    own = ("N", "B", "V", "T", "f", "x", "x_", "out", "out0", "status", "logits", "restrict")
    before = "".join(f"#define {name} 1024 /\n" for name in own)
    compiles(tmp_path, mode, [text], EVERYTHING + before)


def test_names_that_differ_by_an_underscore(tmp_path: Path) -> None:
    """`f` and its reader `f_message` beside a function of that name."""
    kind = "tensor<F32, [N]>"
    names = ("f", "f_", "f_message", "f_message_", "f__message", "f_message_message")
    text = "\n".join(
        f"let {name} = fn(N: {kind}, N_: {kind}) -> {kind} {{ N + N_ }}" for name in names
    )
    for mode in MODES:
        compiles(tmp_path, mode, [header(functions(text, "kina_"))])


def test_headers_of_one_file_name(tmp_path: Path) -> None:
    """Each is there: the guard is made of what a header says, not of what it is called."""
    texts = [header(functions(programs()[0], prefix)) for prefix in ("train_", "eval_", "")]
    guards = {re.findall(r"#ifndef (KINA_\w+)", text)[0] for text in texts}
    assert len(guards) == 3
    for mode in MODES:
        compiles(tmp_path, mode, texts)


def test_every_taken_name_is_reported() -> None:
    places = dict.fromkeys(("malloc", "nll", "free"), PLACE)
    with pytest.raises(KinaValueError) as raised:
        check_symbols(places, "")
    assert [problem.message.split("`")[1] for problem in raised.value.diagnostics] == [
        "malloc",
        "free",
    ]


PLACE = Span("t.kina", 1, 5, 3, "let f = fn")


@pytest.mark.parametrize(
    ("prefix", "name", "owner"),
    [
        ("", "malloc", "is a name of the C library"),
        ("m", "emcpy", "is a name of the C library"),
        ("", "main", "is a name of the C library"),
        ("e", "xpf", "is a name of the C library"),
        ("omp_", "nothing", "is a name of another runtime"),
        ("GOMP_", "nothing", "is a name of another runtime"),
        ("kmp_", "nothing", "is a name of another runtime"),
        ("", "llvm", "is a name of another runtime"),
        ("omp_", "get_max_threads", "is a name of another runtime"),
        ("str", "lcpy", "is a name of the C library"),
        ("is", "nan", "is a name of the C library"),
        ("i", "nt32_t", "is a word of C or C++"),
        ("con", "cept", "is a word of C or C++"),
        ("", "while", "is a word of C or C++"),
        ("E", "OF", "is a name of the C library"),
    ],
)
def test_exported_names_that_are_taken(prefix: str, name: str, owner: str) -> None:
    with pytest.raises(KinaValueError) as raised:
        check_symbols({name: PLACE}, prefix)
    (problem,) = raised.value.diagnostics
    symbol = prefix + name
    said = f"with the prefix '{prefix}' the function `{name}` is called '{symbol}', which {owner}"
    assert problem.message == said
    assert problem.span == PLACE
    check_symbols({name: PLACE}, "kina_")
    check_symbols({name: PLACE}, "train_")
