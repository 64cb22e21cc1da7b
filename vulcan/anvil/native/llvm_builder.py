"""Builders of LLVM IR: registers, basic blocks, instructions that policies need, and access to memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import state_bounds
from vulcan.anvil.analysis.intervals import Bounds, Interval, declared_bounds
from vulcan.anvil.feature_layout import Layout, Slot
from vulcan.anvil.plan import Plan
from vulcan.anvil.semantics import MAX
from vulcan.anvil.state_layout import OBSERVATIONS, Base, Block, Part, PopulationShape, StateSlots, base_at
from vulcan.task import Signature

Operand = tuple[str, Interval]
"""A register or constant, and the bounds of its value."""


def constant(value: float) -> str:
    """Return a number in LLVM's exact notation."""
    return "0x" + struct.pack(">d", float(value)).hex().upper()


class Builder:
    """Body of one function. Values are doubles, except for conditions, which are i1, and counts, which are i64."""

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

    def number_of(self, condition: str) -> str:
        """Emit 1 or 0; LLVM's fast code generator gives up on the rest of a block where a conversion is written."""
        return self.select(condition, constant(1.0), constant(0.0))

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
        """Clamp the register to finite numbers, unless its bounds show that it is one."""
        if bounds.magnitude < MAX:
            return register
        above = self.select(self.compare("ogt", register, constant(MAX)), constant(MAX), register)
        return self.select(self.compare("olt", above, constant(-MAX)), constant(-MAX), above)


@dataclass
class Context:
    """A policy, its memory layout, and the symbols of its functions.

    `symbols` is filled as functions are written: the symbol of each role (`score`, `enter`, `update`, `leave`), that of
    each function besides the main one under `score_` and its name, that of each occasion under `at_` and its name, that
    of each handler of an event under `event_` and its name, and `release`.
    """

    program: ir.Module
    plan: Plan
    signature: Signature
    layout: Layout
    prefix: str
    symbols: dict[str, str] = field(default_factory=dict)
    bounds: Bounds = field(init=False)
    shapes: Mapping[str, PopulationShape] = field(init=False)
    blocks: Mapping[Base, Block] = field(init=False)
    starts: Mapping[Base, int] = field(init=False)
    """First slot of each block behind the evaluator's globals, in memory order."""
    state: StateSlots = field(init=False)
    state_start: int = field(init=False)
    """First slot of registers and arrays, behind the blocks."""

    def __post_init__(self) -> None:
        self.bounds = declared_bounds(self.program, self.signature)
        if self.program.handlers:
            self.bounds.state = state_bounds(self.program, self.signature)
        self.state = self.plan.state
        self.shapes = self.plan.shapes(self.signature)
        at_occasions = {base_at(name): block for name, block in self.plan.occasion_blocks(self.signature).items()}
        of_system = {"system": self.plan.system_block(self.signature), **at_occasions}
        self.blocks = {"entity": self.plan.entity_block, **of_system}
        ends = [*accumulate((block.slots for block in of_system.values()), initial=self.layout.global_slots)]
        self.starts = dict(zip(of_system, ends, strict=False))
        self.state_start = ends[-1]

    def symbol(self, role: str) -> str:
        self.symbols[role] = f"{self.prefix}_{role}"
        return self.symbols[role]

    def score(self, function: str) -> str:
        """Return the symbol of a function that the task names."""
        return self.symbol(role_of(self.program, function))


def role_of(program: ir.Module, function: str) -> str:
    """Return the role, in `Context.symbols`, of a function that the task names."""
    return "score" if function == program.entry.name else f"score_{function}"


def role_of_event(event: str) -> str:
    """Return the role, in `Context.symbols`, of the handler of an event."""
    return f"event_{event}"


def role_at(occasion: str) -> str:
    """Return the role, in `Context.symbols`, of the observation at an occasion."""
    return f"at_{occasion}"


ENTRY_ARGUMENTS = "ptr %globals, ptr %entity, ptr %statistics, double %key"


class Memory(Builder):
    """Body of a function with the arguments of an entry."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def read(self, slot: Slot) -> str:
        return "%key" if slot.base == "key" else self.load(self.element(f"%{slot.base}", slot.index))

    def feature(self, name: str) -> str:
        return self.read(self.context.layout.features[name])

    def part(self, base: Base, part: Part, offset: int = 0) -> str:
        """Emit a pointer to a slot of the part, by its number."""
        start = self.context.blocks[base].starts[part] + offset
        if base == "entity":
            return self.element("%statistics", start)
        return self.element("%globals", self.context.starts[base] + start)

    def cell(self, name: str) -> str:
        """Emit a pointer to a register, to an array's first element, to a field, or to a control of the event."""
        if name in self.context.state.fields:
            slot = self.context.blocks["entity"].slots + self.context.state.fields[name]
            return self.element("%statistics", slot)
        if name in self.context.state.starts:
            return self.element("%globals", self.context.state_start + self.context.state.starts[name])
        slot_of = self.context.layout.controls[name]
        return self.element(f"%{slot_of.base}", slot_of.index)

    def generator(self) -> str:
        """Emit a pointer to the state of the random numbers' generator."""
        return self.element("%globals", self.context.state_start)

    def length(self, base: Base, part: Part) -> int:
        return self.context.blocks[base].lengths[part]

    def address(self, base: Base, part: Part) -> str:
        return self.let(f"ptrtoint ptr {self.part(base, part)} to i64")

    def observations(self, base: Base) -> str:
        return self.load_word(self.part(base, OBSERVATIONS))

    def item(self, base: Base, part: Part, index: str) -> str:
        """Load the number in a slot of the part, whose index is in a register."""
        return self.load(self.let(f"getelementptr double, ptr {self.part(base, part)}, i64 {index}"))
