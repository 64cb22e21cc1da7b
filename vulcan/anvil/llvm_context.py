"""What the functions of one compiled policy have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vulcan.anvil import program as p
from vulcan.anvil.intervals import Bounds, declared_bounds
from vulcan.anvil.layout import Layout
from vulcan.anvil.plan import Plan
from vulcan.task import Signature


@dataclass
class Context:
    """A policy, where it finds things in memory, and the symbols that its functions are given.

    `populations` says at which float64 of the globals each population begins. `symbols` fills as functions are
    written: the symbol of each role (`score`, `enter`, `update`, `leave`).
    """

    program: p.Program
    plan: Plan
    signature: Signature
    layout: Layout
    populations: Mapping[str, int]
    prefix: str
    symbols: dict[str, str] = field(default_factory=dict)
    bounds: Bounds = field(init=False)

    def __post_init__(self) -> None:
        self.bounds = declared_bounds(self.program, self.signature)

    def symbol(self, role: str) -> str:
        self.symbols[role] = f"{self.prefix}_{role}"
        return self.symbols[role]

    def average_slot(self, statistic: p.Statistic) -> int:
        return self.plan.averages.index(statistic)

    def population_slot(self, feature: str) -> int:
        return len(self.plan.averages) + self.plan.populations.index(feature)
