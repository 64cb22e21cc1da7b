"""Writes the LLVM IR of a whole policy: its helpers, its score, and the update of exactly its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vulcan.anvil import intervals
from vulcan.anvil import program as p
from vulcan.anvil.intervals import Bounds, Interval
from vulcan.anvil.jit import LIBRARY
from vulcan.anvil.layout import Layout
from vulcan.anvil.llvm_builder import constant
from vulcan.anvil.llvm_writer import ENTRY_ARGUMENTS, Writer
from vulcan.anvil.plan import Plan
from vulcan.task import Signature


def _declarations() -> dict[str, str]:
    lines = {}
    for name, count in LIBRARY.items():
        doubles = ", ".join(["double"] * count)
        lines[f"anvil_{name}"] = f"declare double @anvil_{name}({doubles}) nounwind willreturn memory(none)"
    for name, count in (("add", 1), ("move", 2), ("remove", 1), ("percentile", 2)):
        full = f"anvil_population_{name}"
        lines[full] = f"declare double @{full}(i64{', double' * count}) nounwind"
    for name in ("floor", "ceil", "trunc", "roundeven", "fabs", "sqrt"):
        lines[f"llvm.{name}.f64"] = f"declare double @llvm.{name}.f64(double)"
    lines["llvm.copysign.f64"] = "declare double @llvm.copysign.f64(double, double)"
    return lines


_DECLARATIONS = _declarations()


@dataclass
class ModuleText:
    """Writes the IR of one policy. Each function of it keeps its own counter of names."""

    program: p.Program
    plan: Plan
    signature: Signature
    layout: Layout
    populations: Mapping[str, int]
    prefix: str
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declared = dict(self.signature.features())
        ranges = {name: Interval(f.low, f.high, f.type != "float") for name, f in declared.items()}
        for history in self.layout.histories:
            ranges[f"{history}.contains"] = intervals.TRUTH
            ranges[f"{history}.count"] = Interval(0.0, 2.0**53, True)
            ranges[f"{history}.age"] = Interval(0.0, 2.0**53)
        unknown = {name: intervals.point(f.unknown) for name, f in declared.items()}
        self.bounds = Bounds(ranges, unknown, {n: intervals.point(v) for n, v in self.program.parameters}, {})

    def text(self) -> str:
        parts = [Writer(self, function).function() for function in self.program.functions]
        if self.plan.statistics:
            parts.extend((self.observation("enter"), self.observation("update"), self.observation("leave")))
        body = "\n".join(parts)
        used = [line for name, line in _DECLARATIONS.items() if f"@{name}(" in body]
        return "\n".join((body, *used)) + "\n"

    def symbol(self, role: str) -> str:
        self.names[role] = f"{self.prefix}_{role}"
        return self.names[role]

    def average_slot(self, statistic: p.Statistic) -> int:
        return self.plan.averages.index(statistic)

    def population_slot(self, feature: str) -> int:
        return len(self.plan.averages) + self.plan.populations.index(feature)

    def observation(self, role: str) -> str:
        """`enter`, `update` or `leave`: what becomes of an entity's statistics then."""
        w = Writer(self, self.program.entry)
        for statistic in self.plan.averages if role != "leave" else ():
            place = w.element("%statistics", self.average_slot(statistic))
            value = w.read(self.layout.features[statistic.feature])
            if role == "update":
                old = w.load(place)
                moved = w.op("fmul", constant(statistic.argument), w.op("fsub", value, old))
                value = w.op("fadd", old, moved)
            w.put(f"store double {value}, ptr {place}")
        for feature in self.plan.populations:
            place = w.element("%statistics", self.population_slot(feature))
            population = w.population(feature)
            if role == "leave":
                w.call("anvil_population_remove", f"i64 {population}", f"double {w.load(place)}")
                continue
            value = w.read(self.layout.features[feature])
            if role == "enter":
                new = w.call("anvil_population_add", f"i64 {population}", f"double {value}")
            else:
                old = w.load(place)
                new = w.call("anvil_population_move", f"i64 {population}", f"double {old}", f"double {value}")
            w.put(f"store double {new}, ptr {place}")
        lines = "\n".join(w.lines)
        return f"define void @{self.symbol(role)}({ENTRY_ARGUMENTS}) nounwind {{\nentry:\n{lines}\n  ret void\n}}"
