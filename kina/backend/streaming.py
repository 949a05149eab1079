"""Writes large results past the caches (on LLVM IR text).

A plain store reads the cache line that it is about to overwrite; a non-temporal one does not,
but it needs whole, aligned lines. schedule-cpu names the results that may be large in the
function attribute `ATTRIBUTE`: pairs `pointer:elements`, each the place of an argument, the
elements a number or `%` and an argument. In the innermost loops that store to them, one vector
of `step` elements an iteration:

- every iteration but the first moves down to the last aligned place, by less than a line, and one
  more iteration does the end again. What is computed there is the same, so it may be written
  twice: such loops only read elsewhere;
- an aligned vector is stored past the caches, a line at a time, others as before;
- a fence ends the function, since such stores are not ordered with what another thread does next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kina.backend.llvm_text import BITS, LINE, base_of, definitions, pairs, rewrite_functions

ATTRIBUTE = "kina-stream"
LARGE = 8 << 20
"""Bytes of a result that a core's cache has no use for."""
LONG = 1024
"""Elements of a row that is long enough to be moved to aligned places."""
_WORDS = LINE // 4

_LOOP = re.compile(
    r"^(?P<head>\d+):[^\n]*\n"
    r"  (?P<i>%\d+) = phi i64 \[ (?P<next>%\d+), %(?P<body>\d+) \], \[ 0, %(?P<before>\d+) \]\n"
    r"  (?P<c>%\d+) = icmp slt i64 (?P=i), (?P<end>%?\d+)\n"
    r"  br i1 (?P=c), label %(?P=body), label %\d+\n\n"
    r"(?P=body):[^\n]*\n"
    r"(?P<work>(?:  [^\n]*\n)*?)"
    r"  (?P=next) = add i64 (?P=i), (?P<step>\d+)\n"
    r"  br label %(?P=head)\n",
    re.MULTILINE,
)
_STORE = re.compile(r"^  store <(\d+) x (\w+)> (%\d+), ptr (%\d+), align \d+\n", re.MULTILINE)
# A prefetch is none: it may ask for any place.
_EFFECT = re.compile(r"^  (?:store\b|br\b|call void (?!@llvm\.prefetch))", re.MULTILINE)
_LOAD = re.compile(r" (?:load|masked\.load)[^\n]*?ptr (?:align \d+ )?(%[\w.]+)")
_NAME = re.compile(r"%\d+\b")


# LLVM selects no non-temporal store of halves. These are made to look like integers: they are
# joined with zeros of which it does not know that they are.
_ZERO = "@kina.zero = private constant i32 0\n"
_ZEROS = (
    "  %kina.zero = load volatile i32, ptr @kina.zero",
    f"  %kina.zero.first = insertelement <{_WORDS} x i32> poison, i32 %kina.zero, i64 0",
    f"  %kina.zeros = shufflevector <{_WORDS} x i32> %kina.zero.first, "
    f"<{_WORDS} x i32> poison, <{_WORDS} x i32> zeroinitializer",
)


def stream_stores(llvm_ir: str) -> str:
    """`llvm_ir` with non-temporal stores in the functions that ask for them."""
    streamed = rewrite_functions(llvm_ir, ATTRIBUTE, _streamed)
    return streamed + _ZERO if _ZEROS[0] in streamed else streamed


def _streamed(function: str, hints: str) -> str:
    elements, made = pairs(hints), definitions(function)
    large: dict[str, str] = {}
    before: dict[str, str] = {}

    def rewrite(match: re.Match[str]) -> str:
        loop = _Loop.of(match, made)
        if loop is None or loop.result not in elements:
            return match[0]
        least = LARGE * 8 // BITS[loop.element]
        large[loop.large] = f"  {loop.large} = icmp uge i64 {elements[loop.result]}, {least}"
        before[loop.before] = loop.start()
        return loop.rewritten()

    text = _LOOP.sub(rewrite, function)
    if not large:
        return function
    for label, lines in before.items():
        text = _at_end(text, label, lines)
    header, _, body = text.partition("\n")
    zeros = _ZEROS if "%kina.zeros" in text else ()
    return _fenced("\n".join([header, *zeros, *large.values(), body]), list(large))


def _at_end(text: str, label: str, lines: str) -> str:
    """Puts `lines` before the branch that ends a block."""
    start = re.compile(rf"^{label}:", re.MULTILINE).search(text)
    branch = re.compile(r"^  br ", re.MULTILINE).search(text, start.end() if start else 0)
    assert branch is not None
    return text[: branch.start()] + lines + text[branch.start() :]


def _fenced(text: str, large: list[str]) -> str:
    """A fence before the function returns, if it streamed."""
    any_large, lines = large[0], list[str]()
    for number, name in enumerate(large[1:]):
        lines.append(f"  %kina.any{number} = or i1 {any_large}, {name}")
        any_large = f"%kina.any{number}"
    lines += [
        f"  br i1 {any_large}, label %kina.drain, label %kina.done",
        "",
        "kina.drain:",
        "  fence seq_cst",
        "  br label %kina.done",
        "",
        "kina.done:",
        "  ret void",
    ]
    return text.replace("  ret void", "\n".join(lines))


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop whose only effect is one vector store an iteration, at the place that it counts."""

    match: re.Match[str]
    store: re.Match[str]
    result: str
    """The place of the argument that it stores to."""

    @staticmethod
    def of(match: re.Match[str], made: dict[str, str]) -> _Loop | None:
        """The loop, None if it is of another form or reads what it writes."""
        work = match["work"]
        store = _STORE.search(work)
        if store is None or len(_EFFECT.findall(work)) != 1 or store[2] not in BITS:
            return None
        count = int(store[1])
        if count != int(match["step"]) or count * BITS[store[2]] % (8 * LINE):
            return None
        result = base_of(store[4], made)
        if result in {base_of(pointer, made) for pointer in _LOAD.findall(work)}:
            return None
        return _Loop(match, store, result)

    @property
    def element(self) -> str:
        """The type of an element."""
        return self.store[2]

    @property
    def before(self) -> str:
        """The label of the block before the loop."""
        return self.match["before"]

    @property
    def large(self) -> str:
        """The name of the flag that says whether to stream."""
        return f"%kina.large{self.result}"

    def _name(self, what: str) -> str:
        return f"%kina.{what}{self.match['head']}"

    def start(self) -> str:
        """What is done once: how far places lie after aligned ones, and where the loop ends."""
        end, step, name = self.match["end"], self.match["step"], self._name
        shift = (BITS[self.element] // 8).bit_length() - 1
        lines = [
            *self._first_place(),
            f"{name('address')} = ptrtoint ptr {name('first')} to i64",
            f"{name('off')} = and i64 {name('address')}, {LINE - 1}",
            f"{name('past')} = lshr i64 {name('off')}, {shift}",
            f"{name('long')} = icmp sge i64 {end}, {LONG}",
            f"{name('moves')} = and i1 {name('long')}, {self.large}",
            f"{name('by')} = select i1 {name('moves')}, i64 {name('past')}, i64 0",
            f"{name('even')} = icmp eq i64 {name('by')}, 0",
            f"{name('more')} = select i1 {name('even')}, i64 0, i64 {step}",
            f"{name('end')} = add i64 {end}, {name('more')}",
            f"{name('tail')} = sub i64 {end}, {step}",
        ]
        return "".join(f"  {line}\n" for line in lines)

    def _first_place(self) -> list[str]:
        """The computation of the first place stored to, under names of its own."""
        made = definitions(self.match["work"])
        needed, pending = set[str](), [self.store[4]]
        while pending:
            value = pending.pop()
            if value in made and value not in needed:
                needed.add(value)
                pending += _NAME.findall(made[value])
        names = {v: f"{self._name('at')}.{v[1:]}" for v in needed} | {self.match["i"]: "0"}
        names[self.store[4]] = self._name("first")
        return [
            f"{names[value]} = {_NAME.sub(lambda m: names.get(m[0], m[0]), text)}"
            for value, text in made.items()
            if value in needed
        ]

    def rewritten(self) -> str:
        """The loop with its places moved, and both kinds of stores."""
        match, name = self.match, self._name
        head = match["head"]
        text = match[0][: match.start("work") - match.start()]
        text = text.replace(f"%{match['body']} ]", f"%kina.stored{head} ]", 1)
        text = re.sub(
            rf"icmp slt i64 {match['i']}, \S+", f"icmp slt i64 {match['i']}, {name('end')}", text
        )
        moved = [
            f"{name('down')} = sub i64 {match['i']}, {name('by')}",
            f"{name('starts')} = icmp eq i64 {match['i']}, 0",
            f"{name('from')} = select i1 {name('starts')}, i64 0, i64 {name('down')}",
            f"{name('ends')} = icmp sge i64 {match['i']}, {match['end']}",
            f"{name('place')} = select i1 {name('ends')}, i64 {name('tail')}, i64 {name('from')}",
        ]
        work = match["work"].replace(self.store[0], self._stores())
        places = {match["i"]: name("place")}
        work = _NAME.sub(lambda m: places.get(m[0], m[0]), work)
        rest = match[0][match.end("work") - match.start() :]
        return text + "".join(f"  {line}\n" for line in moved) + work + rest

    def _stores(self) -> str:
        """The store as it was, or past the caches if its place is aligned."""
        name, head = self._name, self.match["head"]
        count, element, value, place = self.store.groups()
        words = int(count) * BITS[element] // 32
        lines = [
            f"  {name('to')} = ptrtoint ptr {place} to i64",
            f"  {name('low')} = and i64 {name('to')}, {LINE - 1}",
            f"  {name('aligned')} = icmp eq i64 {name('low')}, 0",
            f"  {name('streams')} = and i1 {name('aligned')}, {self.large}",
            f"  br i1 {name('streams')}, label %kina.stream{head}, label %kina.plain{head}",
            "",
            f"kina.plain{head}:",
            self.store[0].rstrip("\n"),
            f"  br label %kina.stored{head}",
            "",
            f"kina.stream{head}:",
            f"  {name('words')} = bitcast <{count} x {element}> {value} to <{words} x i32>",
        ]
        for first in range(0, words, _WORDS):
            chosen = ", ".join(f"i32 {first + i}" for i in range(_WORDS))
            part, to = f"{name('part')}.{first}", f"{name('line')}.{first}"
            lines += [
                f"  {part} = shufflevector <{words} x i32> {name('words')}, "
                f"<{words} x i32> poison, <{_WORDS} x i32> <{chosen}>",
                f"  {to} = getelementptr i32, ptr {place}, i64 {first}",
            ]
            if element == "half":
                lines.append(f"  {part}.int = or <{_WORDS} x i32> {part}, %kina.zeros")
                part += ".int"
            lines.append(
                f"  store <{_WORDS} x i32> {part}, ptr {to}, align {LINE}, !nontemporal !{{i32 1}}"
            )
        lines += [f"  br label %kina.stored{head}", "", f"kina.stored{head}:"]
        return "\n".join(lines) + "\n"
