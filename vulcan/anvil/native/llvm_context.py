"""What the functions of one compiled policy have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import Bounds, declared_bounds
from vulcan.anvil.layout import Layout
from vulcan.anvil.plan import Plan
from vulcan.anvil.population_shape import PopulationShape
from vulcan.anvil.statistic_slots import Base, Block, base_at
from vulcan.task import Signature


@dataclass
class Context:
    """A policy, where it finds things in memory, and the symbols that its functions are given.

    `symbols` fills as functions are written: the symbol of each role (`score`, `enter`, `update`, `leave`), and that of
    each function besides the main one under `score_` and its name, and that of each occasion under `at_` and its name.
    """

    program: p.Program
    plan: Plan
    signature: Signature
    layout: Layout
    prefix: str
    symbols: dict[str, str] = field(default_factory=dict)
    bounds: Bounds = field(init=False)
    shapes: Mapping[str, PopulationShape] = field(init=False)
    blocks: Mapping[Base, Block] = field(init=False)
    starts: Mapping[Base, int] = field(init=False)
    """The first slot of each block that lies behind the evaluator's globals, in the order in which they lie."""

    def __post_init__(self) -> None:
        self.bounds = declared_bounds(self.program, self.signature)
        self.shapes = self.plan.shapes(self.signature)
        at_occasions = {base_at(name): block for name, block in self.plan.occasion_blocks(self.signature).items()}
        of_system = {"system": self.plan.system_block(self.signature), **at_occasions}
        self.blocks = {"entity": self.plan.entity_block, **of_system}
        ends = [*accumulate((block.slots for block in of_system.values()), initial=self.layout.global_slots)]
        self.starts = dict(zip(of_system, ends, strict=False))

    def symbol(self, role: str) -> str:
        self.symbols[role] = f"{self.prefix}_{role}"
        return self.symbols[role]

    def score(self, function: str) -> str:
        """The symbol of a function that the task names."""
        return self.symbol(role_of(self.program, function))


def role_of(program: p.Program, function: str) -> str:
    """What a function that the task names is called among a policy's symbols."""
    return "score" if function == program.entry.name else f"score_{function}"


def role_at(occasion: str) -> str:
    """What the observation at an occasion is called among a policy's symbols."""
    return f"at_{occasion}"
