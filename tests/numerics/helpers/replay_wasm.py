"""Calls functions of a WebAssembly library: what `replay.c` does elsewhere, with wasmtime.

As a program: replay_wasm.py LIBRARY PLAN INPUTS RESULTS.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import wasmtime


class Instance:
    """A library in memory of its own, with nothing from outside."""

    def __init__(self, library: Path) -> None:
        self._store = wasmtime.Store()
        module = wasmtime.Module.from_file(self._store.engine, str(library))
        assert not module.imports
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self.memory: Any = self._exports["memory"]

    def call(self, name: str, *arguments: int) -> Any:
        """What an exported function returns."""
        function: Any = self._exports[name]
        return function(self._store, *arguments)

    def place(self, data: bytes) -> int:
        """The address of a copy of some bytes."""
        address = self.call("malloc", len(data))
        assert address
        self.memory.write(self._store, data, address)
        return address

    def read(self, address: int, size: int) -> bytes:
        """Some bytes of its memory."""
        return bytes(self.memory.read(self._store, address, address + size))

    @property
    def pages(self) -> int:
        """How large its memory is."""
        return self.memory.size(self._store)

    def replay(self, line: str, inputs: bytes) -> tuple[int, bytes]:
        """One call of the plan: how many bytes of the inputs it took, and its results."""
        symbol, *numbers = line.split()
        words = iter(map(int, numbers))
        sizes = [next(words) for _ in range(next(words))]
        lengths = [next(words) for _ in range(next(words))]
        outputs = [next(words) for _ in range(next(words))]
        placed, taken = list[int](), 0
        for length in lengths:
            placed.append(self.place(inputs[taken : taken + length]))
            taken += length
        results = [self.place(b"\xa5" * length) for length in outputs]
        status = self.call(symbol, *sizes, *placed, *results)
        assert status == 0, f"{symbol}: status {status}"
        data = b"".join(map(self.read, results, outputs))
        for address in (*placed, *results):
            self.call("free", address)
        return taken, data


def main() -> None:
    """All calls of a plan."""
    library, plan, inputs, results = map(Path, sys.argv[1:])
    instance, data, made, at = Instance(library), inputs.read_bytes(), list[bytes](), 0
    for line in plan.read_text().splitlines():
        taken, result = instance.replay(line, data[at:])
        made.append(result)
        at += taken
    results.write_bytes(b"".join(made))


if __name__ == "__main__":
    main()
