"""`kina doctor`: what was found where, and what to install."""

from __future__ import annotations

import platform

import kina
from kina.backend import cache_folder, targets
from kina.backend.linkers import linker
from kina.backend.toolchain import CC, STATIC_TOOLS, TOOLS, ZIG, Tool, find, is_there, version_of
from kina.cli.version import package
from kina.errors import KinaError, KinaToolchainError, render_all

_PACKAGES = ("xdsl", "numpy", "ml_dtypes", "cffi", "typer")


def report() -> int:
    """Print the state of everything that Kina needs; 1 if a tool is missing."""
    print(f"kina {kina.__version__}, Python {platform.python_version()}, {platform.platform()}")
    print(f"  CPU: {targets.host_cpu().partition('|')[0]}")
    for name in _PACKAGES:
        print(f"  {name}: {package(name)}")
    links = linker(targets.TARGETS["native"])
    needed = [links if tool is CC else tool for tool in TOOLS + STATIC_TOOLS]
    failed = [tool.name for tool in needed if not _show(tool)]
    if links is not ZIG:
        _show_zig()
    try:
        folder = cache_folder.folder()
        cache_folder.check_loadable()
        print(f"  cache: {folder}")
    except KinaError as error:
        failed.append("cache")
        print(f"  cache: {render_all(error.diagnostics)}")
    print("everything is there" if not failed else f"missing: {', '.join(failed)}")
    return 1 if failed else 0


def _show_zig() -> None:
    """What links for other machines, which not everybody needs."""
    if is_there(ZIG):
        _show(ZIG)
    else:
        print(f"  zig: not installed; to link for other machines: {ZIG.install}")


def _show(tool: Tool) -> bool:
    try:
        found = find(tool)
    except KinaToolchainError as error:
        print(f"  {tool.name}: {render_all(error.diagnostics)}")
        return False
    print(f"  {tool.name}: {version_of(found.path, tool.asks)} ({found.origin}: {found.path})")
    return True
