"""Changes to programs that keep much of their form: of tokens, and of pieces of other programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from kina.dtypes import DTYPES
from kina.ops import OPS
from tools.fuzzing.targets import PIPELINES

ROOT = Path(__file__).resolve().parents[2]

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ODD = (
    *("0", "1", "-1", "2", "63", "64", "65", "9223372036854775807", "9223372036854775808"),
    *("99999999999999999999999999", "1e400", "-0.0", "1e-400", "0.1", "nan", "inf"),
    *("(", ")", "[", "]", "{", "}", "<", ">", ",", ":", "=", '"', "%", "^", "//", "->", "\u2212"),
)
_REPEATS = (2, 3, 10, 100, 1000)

Tokens = list[str]
Change = Callable[["Mutator", Tokens, Random], Tokens]


class Mutator:
    """Changes inputs of one kind, of which `corpus` holds good ones."""

    def __init__(self, corpus: Sequence[bytes], prefix: int) -> None:
        self._prefix = prefix
        """Bytes in front that are no text."""
        self._pool = [_tokens(each[prefix:]) for each in corpus]
        words = {token for tokens in self._pool for token in tokens if token.strip()}
        self._words = [*sorted(words), *_ODD, *OPS, *DTYPES]

    def changed(self, data: bytes, seed: int, most: int) -> bytes:
        """The input with one to four changes; at most so many bytes."""
        random = Random(seed)
        head = bytearray(data[: self._prefix] or bytes(self._prefix))
        if self._prefix and random.random() < 0.2:
            head[0] = random.randrange(len(PIPELINES))
        tokens = _tokens(data[self._prefix :])
        for _ in range(random.randint(1, 4)):
            tokens = random.choice(_CHANGES)(self, tokens, random)
        return (bytes(head) + "".join(tokens).encode("utf-8", "surrogateescape"))[:most]

    def word(self, random: Random) -> str:
        """A word that some program has."""
        return random.choice(self._words)

    def piece(self, random: Random) -> Tokens:
        """A few tokens of another program."""
        tokens = random.choice(self._pool)
        first = random.randrange(len(tokens) + 1)
        return tokens[first : first + random.randint(1, 40)]


def _tokens(data: bytes) -> Tokens:
    return _TOKEN.findall(data.decode("utf-8", "surrogateescape"))


def _span(tokens: Tokens, random: Random) -> tuple[int, int]:
    first = random.randrange(len(tokens) + 1)
    return first, min(len(tokens), first + random.randint(1, 20))


def _drop(_: Mutator, tokens: Tokens, random: Random) -> Tokens:
    first, end = _span(tokens, random)
    return tokens[:first] + tokens[end:]


def _repeat(_: Mutator, tokens: Tokens, random: Random) -> Tokens:
    first, end = _span(tokens, random)
    return tokens[:first] + tokens[first:end] * random.choice(_REPEATS) + tokens[end:]


def _move(_: Mutator, tokens: Tokens, random: Random) -> Tokens:
    first, end = _span(tokens, random)
    rest = tokens[:first] + tokens[end:]
    at = random.randrange(len(rest) + 1)
    return rest[:at] + tokens[first:end] + rest[at:]


def _replace(mutator: Mutator, tokens: Tokens, random: Random) -> Tokens:
    places = [place for place, token in enumerate(tokens) if token.strip()]
    if not places:
        return [mutator.word(random)]
    at = random.choice(places)
    return [*tokens[:at], mutator.word(random), *tokens[at + 1 :]]


def _swap(_: Mutator, tokens: Tokens, random: Random) -> Tokens:
    """One word for another everywhere: names, sizes and types change together."""
    words = [token for token in tokens if token.strip()]
    if not words:
        return tokens
    old, new = random.choice(words), random.choice(words)
    return [new if token == old else token for token in tokens]


def _insert(mutator: Mutator, tokens: Tokens, random: Random) -> Tokens:
    at = random.randrange(len(tokens) + 1)
    return tokens[:at] + mutator.piece(random) + tokens[at:]


def _nest(_: Mutator, tokens: Tokens, random: Random) -> Tokens:
    first, end = _span(tokens, random)
    deep = random.choice(_REPEATS)
    left, right = random.choice(("()", "[]", "{}", "<>", ("-", ""), ("!", ""), ("x.exp(", ")")))
    inside = [left] * deep + tokens[first:end] + [right] * deep
    return tokens[:first] + inside + tokens[end:]


_CHANGES: tuple[Change, ...] = (_drop, _repeat, _move, _replace, _replace, _swap, _insert, _nest)


def corpus(target: str) -> list[bytes]:
    """Good inputs of a target: the programs and the IR of the repository."""
    kina = [file.read_bytes() for file in _below("examples", "tests", ending="kina")]
    if target == "front":
        return kina
    read = [bytes([1]) + text for text in kina]
    ir = [file.read_bytes() for file in _below("tests", ending="mlir")]
    chunks = [chunk for text in ir for chunk in re.split(rb"// -----.*", text)]
    written = [
        bytes([number]) + chunk
        for number, (extension, _) in enumerate(PIPELINES)
        if extension == "mlir"
        for chunk in chunks[number :: len(PIPELINES) - 1]
    ]
    return read + written


def _below(*folders: str, ending: str) -> list[Path]:
    found = (file for folder in folders for file in (ROOT / folder).rglob(f"*.{ending}"))
    return sorted(file for file in found if file.stat().st_size <= 8192)
