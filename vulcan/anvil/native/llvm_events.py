"""The LLVM IR of an event: what becomes of the statistics when an entity enters, is touched, or leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vulcan.anvil.native import llvm_populations
from vulcan.anvil.native.llvm_answers import at_most, back, number
from vulcan.anvil.native.llvm_builder import constant
from vulcan.anvil.native.llvm_context import Context, role_at
from vulcan.anvil.native.llvm_memory import ENTRY_ARGUMENTS, Memory
from vulcan.anvil.statistic_slots import OBSERVATIONS, Base, Part, base_at, table_bits

MOST_SHORT = 8
"""Slots up to which a part is restored as a whole when its entity leaves: beyond, only what was observed is."""


def events(context: Context) -> list[str]:
    """The functions of those events and occasions that concern the plan's statistics, and what they refer to.

    An event of the system is an `update` where the task has no entity.
    """
    occasions = context.plan.occasion_blocks(context.signature)
    made = [_function(context, role_at(name), _Occasion(base_at(name))) for name in occasions]
    if not (context.blocks["entity"].slots or context.blocks["system"].slots):
        return made
    made.append(_function(context, "update", _update))
    entity = context.blocks["entity"].lengths
    if context.signature.entity is not None:
        if OBSERVATIONS in entity or all(part.kind == "bucket" for part in entity):
            context.symbols["enter"] = context.symbols["update"]  # which sees by itself what is the first
        else:
            made.append(_function(context, "enter", _enter))
    if entity:
        made += [_initial(context), _function(context, "leave", _leave)]
    return made


def _function(context: Context, role: str, body: Callable[[Memory], None]) -> str:
    w = Memory(context)
    body(w)
    lines = "\n".join(w.lines)
    return f"define void @{context.symbol(role)}({ENTRY_ARGUMENTS}) nounwind {{\nentry:\n{lines}\n  ret void\n}}"


@dataclass(frozen=True)
class _Occasion:
    """Writes what becomes of the statistics that observe at an occasion."""

    base: Base

    def __call__(self, w: Memory) -> None:
        _Observation(w, self.base).write()


def _enter(w: Memory) -> None:
    for part in w.context.blocks["entity"].lengths:
        if part.kind != "bucket":  # the others are numbers whose first value is the first observation
            w.store(w.feature(part.feature), w.part("entity", part))
    llvm_populations.observe(w)
    _Observation(w, "system").write()


def _update(w: Memory) -> None:
    _Observation(w, "entity").write()
    llvm_populations.observe(w)
    _Observation(w, "system").write()


def _leave(w: Memory) -> None:
    llvm_populations.remove(w)
    block = w.context.blocks["entity"]
    short = sum(length for length in block.lengths.values() if length <= MOST_SHORT)
    long = [part for part, length in block.lengths.items() if length > MOST_SHORT]
    seen = w.observations("entity") if long else ""
    _restore(w, 0, str(short))
    for part in long:  # they fill from their first slot on
        _restore(w, block.starts[part], at_most(w, seen, block.lengths[part]))


def _restore(w: Memory, start: int, slots: str) -> None:
    """So many slots from `start` on become what they were before any observation."""
    size = w.let(f"shl i64 {slots}, 3")
    source, place = w.element(f"@{_initial_name(w.context)}", start), w.element("%statistics", start)
    w.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr {source}, i64 {size}, i1 false)")


def _initial(context: Context) -> str:
    """The block of an entity that has observed nothing."""
    values = context.plan.entity_block.initial(dict(context.signature.features()), context.shapes)
    numbers = ", ".join(f"double {constant(value)}" for value in values)
    return f"@{_initial_name(context)} = private unnamed_addr constant [{len(values)} x double] [{numbers}]"


def _initial_name(context: Context) -> str:
    return f"{context.prefix}_initial"


class _Observation:
    """An observation of all streams of a block: the first or a later one where they are counted, else a later one."""

    def __init__(self, w: Memory, base: Base) -> None:
        self.w = w
        self.base = base
        self.block = w.context.blocks[base]
        self.before = w.observations(base) if OBSERVATIONS in self.block.lengths else ""
        self.first = w.let(f"icmp eq i64 {self.before}, 0") if self.before else ""

    def write(self) -> None:
        if self.before:
            self.after = self.w.let(f"add i64 {self.before}, 1")
            self.w.store_word(self.after, self.w.part(self.base, OBSERVATIONS))
        for part in self.block.lengths:
            match part.kind:
                case "latest":
                    self.w.store(self.w.feature(part.feature), self.w.part(self.base, part))
                case "avg" | "min" | "max" | "ewma":
                    self.number(part)
                case "sum":
                    self.sum(part)
                case "sorted":
                    window = int(part.argument)
                    self.window(part, "anvil_sorted", at_most(self.w, self.before, window))
                case "table":
                    self.window(part, "anvil_table", str(table_bits(part.argument)))
        for ring in self.block.of_kind("ring"):
            self.ring(ring)
        for part in self.block.of_kind("sum"):
            self.renew(part)

    def number(self, part: Part) -> None:
        """What is one number: its first value is the first observation."""
        w, place = self.w, self.w.part(self.base, part)
        value, old = w.feature(part.feature), w.load(place)
        match part.kind:
            case "avg":
                new = w.op("fadd", old, w.op("fdiv", w.op("fsub", value, old), number(w, self.after)))
            case "ewma":
                new = w.op("fadd", old, w.op("fmul", constant(part.argument), w.op("fsub", value, old)))
            case "min":
                new = w.select(w.compare("olt", value, old), value, old)
            case _:
                new = w.select(w.compare("ogt", value, old), value, old)
        w.store(self.unless_first(new, value), place)

    def sum(self, part: Part) -> None:
        w, place = self.w, self.w.part(self.base, part)
        old = self.unless_first(w.load(place), constant(0.0))
        leaving = w.select(self.is_full(part), self.leaving(part), constant(0.0))
        w.store(w.op("fadd", w.op("fsub", old, leaving), w.feature(part.feature)), place)

    def window(self, part: Part, functions: str, argument: str) -> None:
        """A runtime function that takes in the observation, in place of the one that leaves the window if one does."""
        w = self.w
        address, value = w.address(self.base, part), w.feature(part.feature)
        replace, insert, after = w.label(), w.label(), w.label()
        w.fork(self.is_full(part), replace, insert)
        w.start(replace)
        leaving = self.leaving(part)
        w.call(f"{functions}_replace", f"i64 {address}", f"i64 {argument}", f"double {leaving}", f"double {value}")
        w.jump(after)
        w.start(insert)
        w.call(f"{functions}_insert", f"i64 {address}", f"i64 {argument}", f"double {value}")
        w.jump(after)
        w.start(after)

    def ring(self, ring: Part) -> None:
        w = self.w
        index = w.let(f"urem i64 {self.before}, {self.block.lengths[ring]}")
        place = w.let(f"getelementptr double, ptr {w.part(self.base, ring)}, i64 {index}")
        w.store(w.feature(ring.feature), place)

    def renew(self, part: Part) -> None:
        """Every n observations the sum of n is computed anew, so that rounding errors do not add up."""
        w, window, ring = self.w, int(part.argument), Part("ring", part.feature)
        length = self.block.lengths[ring]
        due, after = w.label(), w.label()
        w.fork(w.let(f"icmp eq i64 {w.let(f'urem i64 {self.after}, {window}')}, 0"), due, after)
        w.start(due)
        address, start = w.address(self.base, ring), back(w, self.after, window, length)
        total = w.call("anvil_ring_sum", f"i64 {address}", f"i64 {start}", f"i64 {window}", f"i64 {length}")
        w.store(total, w.part(self.base, part))
        w.jump(after)
        w.start(after)

    def is_full(self, part: Part) -> str:
        return self.w.let(f"icmp uge i64 {self.before}, {int(part.argument)}")

    def leaving(self, part: Part) -> str:
        """The observation that leaves a window that is full."""
        ring = Part("ring", part.feature)
        return self.w.item(self.base, ring, back(self.w, self.before, int(part.argument), self.block.lengths[ring]))

    def unless_first(self, value: str, otherwise: str) -> str:
        return self.w.select(self.first, otherwise, value) if self.first else value
