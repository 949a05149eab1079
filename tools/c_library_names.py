"""Prints the names that the C library and its headers take on this machine.

    python tools/c_library_names.py > names.txt

`kina/backend/c_library.txt` holds what it printed for glibc 2.36 on x86-64, with the names that C23
adds. Names that start with an underscore are left out: C reserves them all, and so does Kina.
"""

from __future__ import annotations

import subprocess
import textwrap

HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
    stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
    wchar wctype aio arpa/inet cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo
    libgen monetary mqueue ndbm net/if netdb netinet/in netinet/tcp nl_types poll pthread pwd regex
    sched search semaphore spawn strings sys/ipc sys/mman sys/msg sys/resource sys/select sys/sem
    sys/shm sys/socket sys/stat sys/statvfs sys/time sys/times sys/types sys/uio sys/un sys/utsname
    sys/wait syslog tar termios ulimit unistd utime utmpx wordexp
"""
"""Of C11 and POSIX."""

LIBRARIES = ("libc.so.6", "libm.so.6")

C23 = """
    strlcpy strlcat wcslcpy wcslcat memset_explicit memalignment free_sized free_aligned_sized
    timegetres strdup strndup memccpy gmtime_r localtime_r call_once stdc_leading_zeros
    stdc_leading_ones stdc_trailing_zeros stdc_trailing_ones stdc_first_leading_zero
    stdc_first_leading_one stdc_first_trailing_zero stdc_first_trailing_one stdc_count_zeros
    stdc_count_ones stdc_has_single_bit stdc_bit_width stdc_bit_floor stdc_bit_ceil acospi asinpi
    atanpi atan2pi cospi sinpi tanpi acospif asinpif atanpif atan2pif cospif sinpif tanpif acospil
    asinpil atanpil atan2pil cospil sinpil tanpil compoundn exp10 exp10m1 exp2m1 log10p1 log2p1
    logp1 powr rootn rsqrt pown compoundnf exp10f exp10m1f exp2m1f log10p1f log2p1f logp1f powrf
    rootnf rsqrtf pownf fmaximum fminimum fmaximum_num fminimum_num fmaximum_mag fminimum_mag
    fmaximumf fminimumf fmaximum_numf fminimum_numf fmaximum_magf fminimum_magf
    memset_pattern4 memset_pattern8 memset_pattern16 reallocf
"""
"""And what LLVM knows beside libc."""

PROGRAM = "main end edata etext environ"


def macros() -> set[str]:
    """The macros of all headers that are there."""
    included = (
        f"#if __has_include(<{name}.h>)\n#include <{name}.h>\n#endif" for name in HEADERS.split()
    )
    text = "#define _GNU_SOURCE\n" + "\n".join(included)
    command = ["cc", "-E", "-dM", "-x", "c", "-"]
    shown = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return {line.split()[1].partition("(")[0] for line in shown.splitlines()}


def symbols(library: str) -> set[str]:
    """The functions and objects that a shared library defines."""
    path = subprocess.run(
        ["cc", f"-print-file-name={library}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    command = ["nm", "-D", "--defined-only", path]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    fields = (line.split() for line in shown.splitlines())
    return {field[-1].partition("@")[0] for field in fields if field[-2] != "A"}


def names() -> list[str]:
    """All of it, in order."""
    found = macros().union(*map(symbols, LIBRARIES), C23.split(), PROGRAM.split())
    return sorted(name for name in found if name[0] != "_")


if __name__ == "__main__":
    print(textwrap.fill(" ".join(names()), 100, break_long_words=False))
