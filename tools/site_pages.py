"""The pages of the site that lie outside of docs/, and links as they are in the repository.

A hook of mkdocs, which calls these functions by their names. `README.md` is the first page; others
keep their path, and what is no page is there as it is.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
HOME = "README.md"
PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    "examples/train/README.md",
    "contrib/xdsl/README.md",
)
DOCS = "docs/"

_LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")
_FENCES = (("```kina error\n", "```rust\n"), ("```kina\n", "```rust\n"))
"""Rust looks the most like Kina of what Pygments knows."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies outside of docs/: pages, and whatever pages link to."""
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / HOME)))
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    known = {file.src_uri for file in files}
    for page in [HOME, *PAGES, *(f"{DOCS}{path.name}" for path in (ROOT / "docs").glob("*.md"))]:
        for found in _LINK.finditer((ROOT / page).read_text(encoding="utf-8")):
            target = _resolved(page, found[2])
            if (ROOT / target).is_file() and _on_site(target) not in known:
                known.add(_on_site(target))
                files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links between files of the repository become links between pages of the site."""
    source = _in_repository(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def moved(found: re.Match[str]) -> str:
        target = _resolved(source, found[2])
        if not (ROOT / target).is_file():
            return found[0]
        link = posixpath.relpath(_on_site(target), here or ".")
        return f"{found[1]}{link}{found[3] or ''}{found[4]}"

    for old, new in _FENCES:
        markdown = markdown.replace(old, new)
    return _LINK.sub(moved, markdown)


def _resolved(source: str, link: str) -> str:
    """The path in the repository that a link of a file leads to."""
    return os.path.normpath(posixpath.join(posixpath.dirname(source), link))


def _on_site(path: str) -> str:
    return "index.md" if path == HOME else path.removeprefix(DOCS)


def _in_repository(uri: str) -> str:
    if uri == "index.md":
        return HOME
    return uri if uri in PAGES else f"{DOCS}{uri}"
