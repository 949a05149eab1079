"""Walks the functions of a module so that what a function uses is done before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Self

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from kina.errors import KinaTypeError


@dataclass
class CalleesFirst(ABC):
    """Replaces, in every function, the operations that name another function."""

    pass_name: ClassVar[str]
    users: ClassVar[tuple[type[Operation], ...]]
    """The operations to replace."""

    functions: dict[str, FuncOp]
    done: set[str] = field(default_factory=set[str])
    active: list[str] = field(default_factory=list[str])

    @classmethod
    def run(cls, module: ModuleOp) -> Self:
        """Do all functions of the module; how that was done."""
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        walk = cls(functions)
        for function in list(functions.values()):
            if not function.is_declaration:
                walk.finish(function)
        return walk

    @abstractmethod
    def callee_name(self, op: Operation) -> str:
        """The function that `op` names."""

    @abstractmethod
    def replace(self, op: Operation, callee: FuncOp) -> None:
        """Replace `op`; nothing is left to do in `callee`."""

    def finish(self, function: FuncOp) -> None:
        """Leave none of `users` in `function`."""
        name = function.sym_name.data
        if name in self.done:
            return
        self.active.append(name)
        for op in [op for op in function.walk() if isinstance(op, self.users)]:
            callee = self.body_of(op)
            self.finish(callee)
            self.replace(op, callee)
        self.active.pop()
        self.done.add(name)

    def body_of(self, op: Operation) -> FuncOp:
        """The function that `op` names; it must have a body and not be in the making."""
        name = self.callee_name(op)
        callee = self.functions[name]
        if callee.is_declaration:
            raise KinaTypeError(
                f"{self.pass_name}: @{name} is only declared, expected a function with a body: "
                "a program is compiled with all that it uses"
            )
        if name in self.active:
            chain = " -> ".join(f"@{f}" for f in [*self.active[self.active.index(name) :], name])
            raise KinaTypeError(
                f"{self.pass_name}: recursive call {chain}, expected other functions only: "
                "the language has no recursion"
            )
        return callee
