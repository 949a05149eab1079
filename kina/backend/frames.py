"""Makes the memory of compiled functions safe: checked heap, bounded stack (on LLVM IR text).

MLIR lowers `memref.alloc` to a `malloc` whose result nobody looks at, and leaves allocas where
they stood, perhaps in a loop. No upstream pass changes either, so it happens here, between
`mlir-translate` and `opt`:

- after each `malloc` a null pointer leads to one exit block of the function, which frees what is
  still held and returns `OUT_OF_MEMORY`; a slot in the frame per `malloc` says what is held, so
  any control flow will do (`opt` turns the slots into registers);
- each alloca of constant size moves to the entry block, so a loop cannot grow the stack.

What is read here is text, so it fails closed: whatever touches memory in a form that is not
expected, another allocator or a stack of run-time size among them, is an error of the compiler.
"""

from __future__ import annotations

import re

from kina.errors import KinaToolchainError
from kina.status import OUT_OF_MEMORY

_LABEL = re.compile(r'^("[^"]*"|[\w.$-]+):')
_ALLOCA = re.compile(r"^  (%[\w.]+) = (alloca [^%]+)$")
_MALLOC = re.compile(r"^  (%[\w.]+) = call ptr @malloc\(")
_FREE = re.compile(r"^  call void @free\(ptr (%[\w.]+)\)")
_DEFINE = re.compile(r"^define .*?^\}$", re.MULTILINE | re.DOTALL)
_PREDECESSOR = re.compile(r", %([\w.$-]+) \]")
_TOUCHES_MEMORY = re.compile(r"= alloca\b|@\"?(?:malloc|free)\b|\binvoke\b")
_FORMS = (_ALLOCA, _MALLOC, _FREE)
_DECLARED = re.compile(r"^declare [^@]*@\"?([\w.$-]+)", re.MULTILINE)
_ALLOCATES = re.compile("alloc|memalign|mmap|stacksave")


def check_allocations(llvm_ir: str) -> str:
    """`llvm_ir` with every function's heap checked and its allocas in the entry block.

    Raises KinaToolchainError where memory is taken or given back in a form unknown here.
    """
    for name in _DECLARED.findall(llvm_ir):
        if name != "malloc" and _ALLOCATES.search(name):
            raise _defect(f"{name} is called, which nothing checks")
    for line in _DEFINE.sub("", llvm_ir).split("\n"):
        if _TOUCHES_MEMORY.search(line) and not line.startswith("declare "):
            raise _defect(f"`{line.strip()}` stands in no function")
    return _DEFINE.sub(lambda match: _Function(match[0]).rewrite(), llvm_ir)


def _require_known_form(line: str) -> None:
    """Refuse a line that touches memory, but in no form that is checked."""
    if _TOUCHES_MEMORY.search(line) and not any(form.match(line) for form in _FORMS):
        raise _defect(f"nothing checks the memory of `{line.strip()}`")


def _defect(what: str) -> KinaToolchainError:
    return KinaToolchainError(f"{what}; this is a defect of Kina, please report it")


class _Function:
    """One `define … { … }`, rewritten line by line."""

    def __init__(self, text: str) -> None:
        header, *body, _ = text.split("\n")
        for line in body:
            _require_known_form(line)
        self.header = header
        self.body = _hoist_allocas(body)
        self.slots = [f"%kina.slot{i}" for i in range(sum(map(_is_malloc, self.body)))]
        self.tail_of: dict[str, str] = {}
        """For each block that was split: the label of its last part."""

    def rewrite(self) -> str:
        """The function's new text."""
        if self.slots:
            self._require_status()
            self.body = self._entry_slots() + self._checked() + self._out_of_memory()
        return "\n".join([self.header, *self.body, "}"])

    def _require_status(self) -> None:
        if not self.header.startswith("define i32 "):
            name = self.header.partition("@")[2].partition("(")[0]
            raise _defect(f"{name}: a temporary is allocated where a failure cannot be reported")

    def _entry_slots(self) -> list[str]:
        label = [self.body.pop(0)] if _LABEL.match(self.body[0]) else []
        allocas = [f"  {slot} = alloca ptr, align 8" for slot in self.slots]
        return label + allocas + [f"  store ptr null, ptr {slot}, align 8" for slot in self.slots]

    def _checked(self) -> list[str]:
        label = str(len(re.findall(r"%\d+\b", self.header)))
        lines: list[str] = []
        pending = iter(enumerate(self.slots))
        for number, line in enumerate(self.body):
            if found := _LABEL.match(line):
                label = found[1]
            elif found := _FREE.match(line):
                lines.extend(self._forget(number, found[1]))
            lines.append(line)
            if found := _MALLOC.match(line):
                index, slot = next(pending)
                lines.extend(_check(index, slot, found[1]))
                self.tail_of[label] = f"kina.allocated{index}"
        return [self._repaired(line) for line in lines]

    def _forget(self, number: int, pointer: str) -> list[str]:
        """Clears whichever slot holds `pointer`, which is freed next."""
        lines: list[str] = []
        for index, slot in enumerate(self.slots):
            held, same, left = (f"%kina.{w}{number}.{index}" for w in ("held", "same", "left"))
            lines += [
                f"  {held} = load ptr, ptr {slot}, align 8",
                f"  {same} = icmp eq ptr {held}, {pointer}",
                f"  {left} = select i1 {same}, ptr null, ptr {held}",
                f"  store ptr {left}, ptr {slot}, align 8",
            ]
        return lines

    def _repaired(self, line: str) -> str:
        """Phis name a split block by its last part."""
        if " = phi " not in line:
            return line
        return _PREDECESSOR.sub(lambda m: f", %{self.tail_of.get(m[1], m[1])} ]", line)

    def _out_of_memory(self) -> list[str]:
        lines = ["", "kina.out_of_memory:"]
        for index, slot in enumerate(self.slots):
            lines += [
                f"  %kina.leak{index} = load ptr, ptr {slot}, align 8",
                f"  call void @free(ptr %kina.leak{index})",
            ]
        return [*lines, f"  ret i32 {OUT_OF_MEMORY}"]


def _is_malloc(line: str) -> bool:
    return _MALLOC.match(line) is not None


def _check(index: int, slot: str, pointer: str) -> list[str]:
    return [
        f"  store ptr {pointer}, ptr {slot}, align 8",
        f"  %kina.failed{index} = icmp eq ptr {pointer}, null",
        f"  br i1 %kina.failed{index}, label %kina.out_of_memory, label %kina.allocated{index}",
        "",
        f"kina.allocated{index}:",
    ]


def _hoist_allocas(body: list[str]) -> list[str]:
    """Moves allocas to the start, before a check can end the entry block; under new names."""
    moved: dict[str, str] = {}
    rest: list[str] = []
    for number, line in enumerate(body):
        found = _ALLOCA.match(line)
        if found is None:
            rest.append(line)
            continue
        moved[found[1]] = f"  %kina.stack{number} = {found[2]}"
    if not moved:
        return body
    names = {old: new.split()[0] for old, new in moved.items()}
    renamed = re.sub(r"%[\w.]+", lambda m: names.get(m[0], m[0]), "\n".join(rest)).split("\n")
    at = 1 if _LABEL.match(renamed[0]) else 0
    return renamed[:at] + list(moved.values()) + renamed[at:]
