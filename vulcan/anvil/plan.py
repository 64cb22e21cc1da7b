"""What a program needs: inferred from its code, so that nothing is attached by hand and nothing unused costs."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import grammar
from vulcan.anvil import program as p
from vulcan.anvil.rejection import Rejected, violation

BYTES_PER_STATISTIC = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """The features, statistics and history queries that a program uses, and the bound on its work.

    `operations` bounds the operations of one call: each operation, comparison, choice, feature read, statistic and
    assignment counts one, loops multiply, helpers count where they are called. `inlined_size` counts what would have
    to be compiled if every helper were written out where it is called: both branches of an `if`, loops once.
    """

    features: tuple[str, ...]
    statistics: tuple[p.Statistic, ...]
    queries: tuple[p.Query, ...]
    operations: int
    inlined_size: int

    @property
    def averages(self) -> tuple[p.Statistic, ...]:
        return tuple(s for s in self.statistics if s.kind == "ewma")

    @property
    def percentiles(self) -> tuple[p.Statistic, ...]:
        return tuple(s for s in self.statistics if s.kind == "percentile")

    @property
    def populations(self) -> tuple[str, ...]:
        """The entity features of which percentiles are asked, each kept in one histogram."""
        return tuple(sorted({s.feature for s in self.percentiles}))

    @property
    def entity_slots(self) -> int:
        """Float64 slots of statistics an entity: one an average, one a population it is counted in."""
        return len(self.averages) + len(self.populations)

    @property
    def bytes_per_entity(self) -> int:
        return self.entity_slots * BYTES_PER_STATISTIC


def make_plan(program: p.Program, limit: int) -> Plan:
    """The plan of a program.

    Raises Rejected where one call could take more than `limit` operations, or helpers nest too deeply.
    """
    _Depth(program).check()
    used = [e for function in program.functions for e in p.expressions(function.body)]
    operations, heaviest = _Counter(program).count()
    if operations > limit:
        line, column = heaviest.at if heaviest else (1, 1)
        where = f"; the loop over {heaviest.name!r} here takes the most" if heaviest else ""
        raise Rejected(
            (
                violation(
                    "operations",
                    line,
                    column,
                    f"one call may take {_spelled(operations)} operations, over the limit of {limit:,}{where}",
                ),
            )
        )
    return Plan(
        features=tuple(sorted({e.feature for e in used if isinstance(e, p.Read)})),
        statistics=tuple(sorted({e for e in used if isinstance(e, p.Statistic)})),
        queries=tuple(sorted({e for e in used if isinstance(e, p.Query)}, key=lambda q: (q.history, q.query))),
        operations=operations,
        inlined_size=_Counter(program, written=True).count()[0],
    )


def _spelled(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "more than 10^15"


class _Counter:
    """Counts operations: those that one call may take, or those `written` once helpers are put in place."""

    def __init__(self, program: p.Program, written: bool = False) -> None:
        self.program = program
        self.written = written
        self.helpers: dict[str, int] = {}
        self.loops: list[tuple[int, p.Loop]] = []

    def count(self) -> tuple[int, p.Loop | None]:
        """Operations of one call of the entry, and the outermost loop that takes the most of them."""
        for function in self.program.functions:
            self.helpers[function.name] = self.block(function.body)
        _, heaviest = max(self.loops, key=lambda pair: pair[0], default=(0, None))
        return self.helpers[self.program.entry.name], heaviest

    def block(self, body: tuple[p.Statement, ...]) -> int:
        return sum(self.statement(s) for s in body)

    def statement(self, statement: p.Statement) -> int:
        match statement:
            case p.Assign(_, value) | p.Return(value):
                return 1 + self.expression(value)
            case p.If(test, then, otherwise):
                branches = self.block(then), self.block(otherwise)
                return 1 + self.expression(test) + (sum(branches) if self.written else max(branches))
            case p.Loop(body=body):
                total = (1 if self.written else statement.trips) * (1 + self.block(body))
                self.loops.append((total, statement))
                return total
            case _:
                return 1

    def expression(self, expression: p.Expression) -> int:
        own = 0 if isinstance(expression, p.Number | p.Parameter | p.Local) else 1
        if isinstance(expression, p.Call):
            own += self.helpers[expression.function]
        return own + sum(self.expression(part) for part in p.children(expression))


class _Depth:
    """How deeply statements, expressions and calls of helpers stand within one another.

    The tree is bounded before, but each helper starts a tree of its own; the reference walks them all by recursion.
    """

    def __init__(self, program: p.Program) -> None:
        self.program = program
        self.helpers: dict[str, int] = {}

    def check(self) -> None:
        for function in self.program.functions:
            self.helpers[function.name] = self.block(function.body)

    def block(self, body: tuple[p.Statement, ...]) -> int:
        return max(map(self.statement, body), default=0)

    def statement(self, statement: p.Statement) -> int:
        match statement:
            case p.Assign(_, value) | p.Return(value):
                return 1 + self.expression(value)
            case p.If(test, then, otherwise):
                return 1 + max(self.expression(test), self.block(then), self.block(otherwise))
            case p.Loop(body=body):
                return 1 + self.block(body)
            case _:
                return 1

    def expression(self, expression: p.Expression) -> int:
        depth = 1 + max(map(self.expression, p.children(expression)), default=0)
        if isinstance(expression, p.Call):
            depth = max(depth, 1 + self.helpers[expression.function])
            if depth > grammar.DEEPEST_CALLS:
                message = f"the call of {expression.function!r} is nested {depth} deep, its helpers counted"
                hint = f"let helpers call fewer helpers: {grammar.DEEPEST_CALLS} levels in all at the most"
                raise Rejected((violation("too-deep", *expression.at, message, hint),))
        return depth
