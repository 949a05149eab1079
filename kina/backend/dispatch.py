"""One library for every x86-64 machine: code for several levels, one of them chosen by the CPU.

The exported functions are written in C. Each jumps through a pointer of its own, which at first
leads to the choice; so nothing runs when the library is loaded, and no resolver runs before the
dynamic linker is done (which an ifunc's would, too early for `getenv`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kina.types import Signature

VARIABLE = "KINA_CPU"
"""Names a level; a library uses it if the CPU has it. Read at each function's first call."""

_CHOICE = """\
/* Which level of x86-64 this CPU and system have. */
#include <cpuid.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN extern __attribute__((visibility("hidden")))
#define EXPORTED __attribute__((visibility("default")))
#define QUOTED(name) #name
#define STRING(name) QUOTED(name)
#define SYMBOL(name) __asm__(STRING(__USER_LABEL_PREFIX__) name)

#define LEVELS {levels}
static const char *const level$names[LEVELS] = {{{names}}};
/* The bits that a level adds, as words of cpuid: 1.ecx, 7.ebx, 80000001.ecx, and XCR0. */
static const uint32_t level$bits[LEVELS][4] = {{
{bits}
}};

static int best$level(void) {{
    uint32_t a, b, c, d, have[4] = {{0, 0, 0, 0}};
    if (__get_cpuid(1, &a, &b, &c, &d)) have[0] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) have[1] = b;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) have[2] = c;
    if (have[0] & (1u << 27)) /* the system saves vector registers */
        __asm__ volatile("xgetbv" : "=a"(have[3]), "=d"(d) : "c"(0));
    int best = 0;
    const char *wanted = getenv("{variable}");
    for (int level = 0; level < LEVELS; level++) {{
        for (int word = 0; word < 4; word++)
            if ((have[word] & level$bits[level][word]) != level$bits[level][word]) return best;
        best = level;
        if (wanted && strcmp(wanted, level$names[level]) == 0) return best;
    }}
    return best;
}}
"""

# An exported name stands in a string, so it meets no name of C; the file's own have a `$`.
_FUNCTION = """\

typedef int32_t type${n}({types});
{variants}
static type${n} choose${n};
static type${n} *chosen${n} = choose${n};

static int32_t choose${n}({parameters}) {{
    static type${n} *const variants[LEVELS] = {{{names}}};
    type${n} *best = variants[best$level()];
    __atomic_store_n(&chosen${n}, best, __ATOMIC_RELAXED);
    return best({arguments});
}}

EXPORTED int32_t function${n}({parameters}) SYMBOL("{symbol}");
int32_t function${n}({parameters}) {{
    return __atomic_load_n(&chosen${n}, __ATOMIC_RELAXED)({arguments});
}}
"""

# What each level adds to the one before, by the x86-64 psABI; XCR0 says what the system saves.
_SSE4_2 = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23
_FMA_MOVBE_AVX_F16C = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29
_BMI_AVX2 = 1 << 3 | 1 << 5 | 1 << 8
_AVX512 = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31
_LAHF, _LZCNT = 1 << 0, 1 << 5
_YMM, _ZMM = 0x6, 0xE6
_BITS: dict[str, tuple[int, int, int, int]] = {
    "x86-64-v2": (_SSE4_2, 0, _LAHF, 0),
    "x86-64-v3": (_FMA_MOVBE_AVX_F16C, _BMI_AVX2, _LZCNT, _YMM),
    "x86-64-v4": (0, _AVX512, 0, _ZMM),
}


def variant(symbol: str, level: str) -> str:
    """What `symbol` is called in the code for one level; no program has a `$` in a name."""
    return f"{symbol}${level.replace('-', '_')}"


def rename(llvm_ir: str, symbols: Sequence[str], level: str) -> str:
    """LLVM IR with its exported functions under their names for `level`, hidden outside."""
    named = rf"@({'|'.join(map(re.escape, symbols))})(?![\w.$-])"
    hidden = re.sub(rf"^define (?=[^@\n]*{named}\()", "define hidden ", llvm_ir, flags=re.MULTILINE)
    return re.sub(named, lambda match: f"@{variant(match[1], level)}", hidden)


Exported = tuple[str, Signature]
"""A function's symbol in the library, and its type."""


def c_source(functions: Sequence[Exported], levels: Sequence[str]) -> str:
    """The C file with the exported functions; `levels` go up, and the first is always used."""
    # The first level is what there is, whatever the CPU.
    words = [(0, 0, 0, 0), *(_BITS[level] for level in levels[1:])]
    choice = _CHOICE.format(
        levels=len(levels),
        names=", ".join(f'"{level}"' for level in levels),
        bits="\n".join(f"    {{{', '.join(f'{w:#x}u' for w in word)}}}," for word in words),
        variable=VARIABLE,
    )
    return choice + "".join(
        _function(number, function, levels) for number, function in enumerate(functions)
    )


def _function(number: int, function: Exported, levels: Sequence[str]) -> str:
    symbol, signature = function
    types = ["int64_t"] * len(signature.symbols)
    types += ["const void *"] * len(signature.parameters) + ["void *"] * len(signature.results)
    names = [variant(symbol, level) for level in levels]
    return _FUNCTION.format(
        n=number,
        symbol=symbol,
        types=", ".join(types),
        variants="\n".join(f"HIDDEN type${number} {name};" for name in names),
        parameters=", ".join(f"{type_} a{index}" for index, type_ in enumerate(types)),
        arguments=", ".join(f"a{index}" for index in range(len(types))),
        names=", ".join(names),
    )
