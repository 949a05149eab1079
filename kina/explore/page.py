"""The page: everything in one file, which needs no network.

Each line has a key, the number of the line of the program that it comes from, and the column;
`page.html` lights up what has the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from kina.dims import Terms
from kina.explore.lines import Line, Place
from kina.explore.stages import Stages, Traffic

_CHUNK = 200
"""Lines that the browser lays out together, once they are near what is shown."""


def page(stages: Stages) -> str:
    """The text of the page."""
    template = files("kina.explore").joinpath("page.html").read_text(encoding="utf-8")
    name = stages.source.parts[-1][1].name
    keys = _keys(stages)
    panes = [_pane("source", *_source(stages, keys))]
    for pane in stages.panes:
        lines = [_line(line, keys) for line in pane.lines]
        panes.append(
            _pane(pane.title, lines, max((len(line.text) for line in pane.lines), default=0))
        )
    values = {
        "title": escape(name),
        "target": escape(stages.target),
        "functions": json.dumps([_function(each) for each in stages.traffic]).replace(
            "<", "\\u003c"
        ),
        "panes": "".join(panes),
    }
    return "".join(_filled(template, values))


def _filled(template: str, values: dict[str, str]) -> Iterator[str]:
    """The template with each `{{name}}` replaced; what is put in is left alone."""
    first, *rest = template.split("{{")
    yield first
    for piece in rest:
        name, _, after = piece.partition("}}")
        yield values[name]
        yield after


def _keys(stages: Stages) -> dict[tuple[str, int], int]:
    """The number of each line of each file, counted through all files."""
    lines = [
        (file.name, number)
        for _, file in stages.source.parts
        for number in range(1, len(file.lines()) + 1)
    ]
    return {line: key for key, line in enumerate(lines)}


def _source(stages: Stages, keys: dict[tuple[str, int], int]) -> tuple[list[str], int]:
    """The lines of all files, the program's own first, and how wide they are."""
    used = {line.place for pane in stages.panes for line in pane.lines if line.place is not None}
    found: dict[tuple[str, int], list[Place]] = {}
    for place in sorted(used):
        found.setdefault((place.file, place.line), []).append(place)
    lines: list[str] = []
    width = 0
    for _, file in reversed(stages.source.parts):
        lines.append(f"<h3>{escape(file.name)}</h3>")
        for number, text in enumerate(file.lines(), 1):
            width = max(width, len(text) + 6)
            words = _words(text, found.get((file.name, number), ()), stages)
            lines.append(f"<p data-k={keys[file.name, number]} data-n={number}>{words}</p>")
    return lines, width


def _words(text: str, places: Iterable[Place], stages: Stages) -> str:
    """A line of the program, the words marked that something comes from."""
    parts: list[str] = []
    at = 0
    for place in places:
        start = place.column - 1
        end = start + stages.tokens.get(place, 1)
        if start < at:
            continue
        parts += [escape(text[at:start], quote=False)]
        parts += [f"<b data-c={place.column}>{escape(text[start:end], quote=False)}</b>"]
        at = end
    return "".join([*parts, escape(text[at:], quote=False)])


def _line(line: Line, keys: dict[tuple[str, int], int]) -> str:
    text = escape(line.text, quote=False)
    place = line.place
    if place is None or (place.file, place.line) not in keys:
        return f"<p>{text}</p>"
    return f"<p data-k={keys[place.file, place.line]} data-c={place.column}>{text}</p>"


def _pane(title: str, lines: Sequence[str], width: int) -> str:
    chunks = [lines[first : first + _CHUNK] for first in range(0, len(lines), _CHUNK)]
    text = "".join(
        f'<div class=chunk style="--n:{len(chunk)}">{"".join(chunk)}</div>' for chunk in chunks
    )
    head = f"<header><h2>{title}</h2><span class=found></span></header>"
    code = f'<div class=code><div class=text style="--w:{width}">{text}</div></div>'
    return f'<section class=pane data-title="{title}">{head}{code}</section>\n'


def _function(traffic: Traffic) -> dict[str, object]:
    return {
        "name": traffic.signature.name,
        "type": str(traffic.signature),
        "symbols": list(traffic.signature.symbols),
        "moved": _written(traffic.moved),
        "needed": _written(traffic.needed),
    }


def _written(terms: Terms) -> list[tuple[int, list[str]]]:
    return [(count, list(symbols)) for symbols, count in terms.items()]
