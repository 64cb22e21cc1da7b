"""What the walks through the functions of one program share: what they found, and how far they may go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import ANYTHING, Bounds, Interval, declared_bounds
from vulcan.anvil.flow.known import Known, Source
from vulcan.task import Signature

_MOST_STEPS = 10_000
"""Evaluations of expressions after which a walk no longer narrows and unrolls: it stays sound, and ends."""
_MOST_CALLS = 16
"""Analyses of one helper for different arguments, after which it is analysed once for any."""
_DEEPEST_NARROWING = 40

Place = tuple[p.Position, p.Expression]
"""Where an expression stands, and which it is: several can begin at one place."""


@dataclass
class Findings:
    """What was seen on the way. `result` is what the main function returns, `results` what each one that the task names
    does; `doubts` are operations asked for what they have no value for, by their place, with the bounds of the operand;
    `outcomes` those of each condition; `reached` the identities of statements; `values` the bounds of each expression
    by its identity, wherever it was evaluated, where the walk was asked to keep them."""

    result: Known | None = None
    results: dict[str, Known] = field(default_factory=dict)
    outcomes: dict[Place, set[bool]] = field(default_factory=dict)
    doubts: dict[Place, Interval] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    values: dict[int, Interval] | None = None


class Shared:
    """`walk` goes through a function whose arguments are known so well, and says what it returns."""

    walk: Callable[[p.Function, dict[str, Known]], Known]

    def __init__(self, program: p.Program, signature: Signature, any_parameters: bool) -> None:
        self.bounds: Bounds = declared_bounds(program, signature)
        if any_parameters:
            self.bounds.parameters = dict.fromkeys(self.bounds.parameters, ANYTHING)
        self.functions = {f.name: f for f in program.functions}
        self.findings = Findings()
        self.results: dict[tuple[str, tuple[tuple[Interval, bool], ...]], Known] = {}
        self.calls: dict[str, int] = {}
        self.steps = 0
        self.depth = 0

    @property
    def narrows(self) -> bool:
        return self.steps < _MOST_STEPS and self.depth < _DEEPEST_NARROWING

    def call(self, name: str, arguments: list[Known]) -> Known:
        """What a helper gives for such arguments."""
        function = self.functions[name]
        key = (name, tuple((a.bounds, a.nonzero) for a in arguments))
        if key not in self.results:
            self.calls[name] = self.calls.get(name, 0) + 1
            if self.calls[name] > _MOST_CALLS or self.steps >= _MOST_STEPS:
                key = (name, ((ANYTHING, False),) * len(arguments))
        if key not in self.results:
            names = {
                argument: Known(bounds, nonzero, frozenset((p.Local(argument),)))
                for argument, (bounds, nonzero) in zip(function.arguments, key[1], strict=True)
            }
            self.results[key] = self.walk(function, names)
        result = self.results[key]
        depends: frozenset[Source] = frozenset()
        for argument, known in zip(function.arguments, arguments, strict=True):
            if p.Local(argument) in result.depends:
                depends |= known.depends
        return Known(result.bounds, result.nonzero, depends)
