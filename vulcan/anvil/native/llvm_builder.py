"""Writes LLVM IR line by line: registers, blocks, and the few instructions that policies need."""

from __future__ import annotations

import struct

from vulcan.anvil.flow.intervals import Interval
from vulcan.anvil.semantics import LARGEST

Operand = tuple[str, Interval]
"""A register or constant, and the bounds of its value."""


def constant(value: float) -> str:
    """A number in LLVM's exact notation."""
    return "0x" + struct.pack(">d", float(value)).hex().upper()


class Builder:
    """The body of one function. Values are doubles, but for conditions, which are i1, and counts, which are i64."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.open = True
        self._registers = 0

    def register(self) -> str:
        self._registers += 1
        return f"%r{self._registers}"

    def label(self) -> str:
        self._registers += 1
        return f"block{self._registers}"

    def put(self, line: str) -> None:
        if self.open:
            self.lines.append("  " + line)

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.open = True

    def jump(self, label: str) -> None:
        self.put(f"br label %{label}")
        self.open = False

    def fork(self, condition: str, then: str, otherwise: str) -> None:
        self.put(f"br i1 {condition}, label %{then}, label %{otherwise}")
        self.open = False

    def let(self, text: str) -> str:
        name = self.register()
        self.put(f"{name} = {text}")
        return name

    def op(self, name: str, a: str, b: str) -> str:
        return self.let(f"{name} double {a}, {b}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.let(f"fcmp {predicate} double {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        return self.let(f"select i1 {condition}, double {a}, double {b}")

    def call(self, function: str, *arguments: str) -> str:
        return self.let(f"call double @{function}({', '.join(arguments)})")

    def libm(self, function: str, *arguments: str) -> str:
        return self.call(f"anvil_{function}", *(f"double {a}" for a in arguments))

    def intrinsic(self, name: str, *arguments: str) -> str:
        return self.call(f"llvm.{name}.f64", *(f"double {a}" for a in arguments))

    def element(self, base: str, index: int) -> str:
        return self.let(f"getelementptr double, ptr {base}, i64 {index}")

    def load(self, place: str) -> str:
        return self.let(f"load double, ptr {place}")

    def load_word(self, place: str) -> str:
        return self.let(f"load i64, ptr {place}")

    def store(self, value: str, place: str) -> None:
        self.put(f"store double {value}, ptr {place}")

    def store_word(self, value: str, place: str) -> None:
        self.put(f"store i64 {value}, ptr {place}")

    def saturated(self, register: str, bounds: Interval) -> str:
        """The register, held within the finite numbers where its bounds do not show that it is."""
        if bounds.magnitude < LARGEST:
            return register
        above = self.select(self.compare("ogt", register, constant(LARGEST)), constant(LARGEST), register)
        return self.select(self.compare("olt", above, constant(-LARGEST)), constant(-LARGEST), above)
