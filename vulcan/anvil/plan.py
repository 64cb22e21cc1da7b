"""Resource plan of a program, inferred from its code: nothing is declared by hand, and nothing unused costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rejection import Rejected, violation
from vulcan.anvil.state_layout import (
    BYTES_PER_SLOT,
    Base,
    Block,
    Part,
    PopulationShape,
    StateSlots,
    base_at,
    block_of,
    parts_of,
    shapes_of,
)
from vulcan.task import Signature


@dataclass(frozen=True, slots=True)
class StatisticMemory:
    """Bytes that a statistic takes: per entity, and for the whole system."""

    statistic: ir.Statistic
    entity: int
    system: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The features, statistics, history queries and state that a program uses, and the bound on its work.

    `events` are those that the program handles, each with the bound on the operations of its handler; `draws` says
    whether one of them draws random numbers. `operations` bounds the operations of one call: each operation,
    comparison, choice, feature read, statistic, read or write of state and assignment counts one, loops multiply,
    helpers count at each call. `inlined_size` counts the operations to compile if every helper were inlined: both
    branches of an `if`, loops once.
    """

    features: tuple[str, ...]
    statistics: tuple[ir.Statistic, ...]
    queries: tuple[ir.Query, ...]
    operations: int
    inlined_size: int
    events: tuple[tuple[str, int], ...] = ()
    variables: tuple[ir.Variable, ...] = ()
    draws: bool = False

    def of_scope(self, scope: grammar.Scope) -> tuple[ir.Statistic, ...]:
        return tuple(s for s in self.statistics if s.scope == scope)

    @property
    def read(self) -> frozenset[str]:
        """The features that it reads, also through statistics alone."""
        return frozenset((*self.features, *(statistic.feature for statistic in self.statistics)))

    @property
    def percentiles(self) -> tuple[ir.Statistic, ...]:
        return self.of_scope("population")

    @property
    def populations(self) -> tuple[str, ...]:
        """The entity features whose percentiles are requested, each stored in one histogram."""
        return tuple(sorted({s.feature for s in self.percentiles}))

    @property
    def entity_block(self) -> Block:
        """Layout of an entity's statistics."""
        return block_of(self.statistics, "entity")

    def system_block(self, signature: Signature) -> Block:
        """Return the layout of the system's statistics, except those observed at an occasion."""
        return block_of(self.statistics, "system", self.shapes(signature), signature.occasions)

    def occasion_blocks(self, signature: Signature) -> Mapping[str, Block]:
        """Return the layouts of the statistics observed at occasions, by occasion, in order, without empty blocks."""
        occasions = signature.occasions
        blocks = {
            occasion: block_of(self.statistics, base_at(occasion), occasions=occasions)
            for occasion in dict.fromkeys(occasions.values())
        }
        return {occasion: block for occasion, block in blocks.items() if block.slots}

    def shapes(self, signature: Signature) -> Mapping[str, PopulationShape]:
        return shapes_of(self.statistics, dict(signature.features()))

    @property
    def state(self) -> StateSlots:
        """Layout of registers, arrays and fields."""
        return StateSlots(self.variables, self.draws)

    @property
    def entity_slots(self) -> int:
        """Float64 slots of statistics and fields per entity."""
        return self.entity_block.slots + len(self.state.fields)

    @property
    def bytes_per_entity(self) -> int:
        return self.entity_slots * BYTES_PER_SLOT

    def bytes_of_system(self, signature: Signature) -> int:
        blocks = [self.system_block(signature), *self.occasion_blocks(signature).values()]
        return (sum(block.slots for block in blocks) + self.state.slots) * BYTES_PER_SLOT

    def memory(self, signature: Signature) -> tuple[StatisticMemory, ...]:
        """Return the memory of each statistic. Shared parts are counted with the first one, so the sums are right."""
        lengths = {"entity": self.entity_block.lengths, "system": self.system_block(signature).lengths}
        lengths |= {base_at(name): block.lengths for name, block in self.occasion_blocks(signature).items()}
        counted: set[tuple[Base, Part]] = set()
        made = []
        for statistic in self.statistics:
            own = [found for found in parts_of(statistic, signature.occasions) if found not in counted]
            counted.update(own)
            entity, system = (
                BYTES_PER_SLOT * sum(lengths[base][part] for base, part in own if (base == "entity") == of_entity)
                for of_entity in (True, False)
            )
            made.append(StatisticMemory(statistic, entity, system))
        return tuple(made)


def make_plan(program: ir.Module, limit: int) -> Plan:
    """Return the plan of a program; `operations` is the largest of those of its functions.

    Raises Rejected where one call could take more than `limit` operations, or helpers nest too deeply.
    """
    _Depth(program).check()
    used = [e for function in program.functions for e in ir.expressions(function.body)]
    main, *others = reversed(program.entries)
    operations = max(_operations(program, entry.name, limit) for entry in (main, *reversed(others)))
    return Plan(
        features=tuple(sorted({e.feature for e in used if isinstance(e, ir.Read)})),
        statistics=tuple(sorted({_statistic(e) for e in used if isinstance(e, ir.Statistic | ir.Occurrences)})),
        queries=tuple(sorted({e for e in used if isinstance(e, ir.Query)}, key=lambda q: (q.history, q.query))),
        operations=operations,
        inlined_size=_Counter(program, written=True).written_size(),
        events=tuple((handler.name, _operations(program, handler.name, limit)) for handler in program.handlers),
        variables=program.variables,
        draws=program.draws,
    )


def _operations(program: ir.Module, function: str, limit: int) -> int:
    """Return the bound on the operations of one call of the main function, or of a handler. Raises Rejected."""
    operations, heaviest = _Counter(program).count(function)
    if operations > limit:
        line, column = heaviest.at if heaviest else (1, 1)
        where = f"; the loop over {heaviest.name!r} here takes the most" if heaviest else ""
        message = f"one call may take {_spelled(operations)} operations, over the limit of {limit:,}{where}"
        raise Rejected((violation("operations", line, column, message),))
    return operations


def _statistic(e: ir.Statistic | ir.Occurrences) -> ir.Statistic:
    return e.statistic if isinstance(e, ir.Occurrences) else e


def _spelled(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "more than 10^15"


class _Counter:
    """Counts operations: those that one call may take, or those `written` once helpers are inlined."""

    def __init__(self, program: ir.Module, written: bool = False) -> None:
        self.program = program
        self.written = written
        self.helpers: dict[str, int] = {}
        self.loops: list[tuple[int, ir.Loop]] = []

    def count(self, name: str = "") -> tuple[int, ir.Loop | None]:
        """Return the operations of one call of a function, and the outermost loop that takes the most of them.

        By default the function is the main one, and the loops are those of the whole program.
        """
        for function in self.program.functions if not name else self.program.alone(name).functions:
            self.helpers[function.name] = self.block(function.body)
        _, heaviest = max(self.loops, key=lambda pair: pair[0], default=(0, None))
        return self.helpers[name or self.program.entry.name], heaviest

    def written_size(self) -> int:
        """Return the operations of the functions that the task names, and of all handlers."""
        self.count()
        return sum(self.helpers[f.name] for f in (*self.program.entries, *self.program.handlers))

    def block(self, body: tuple[ir.Statement, ...]) -> int:
        return sum(self.statement(s) for s in body)

    def statement(self, statement: ir.Statement) -> int:
        expressions, blocks = ir.inside(statement)
        own, bodies = 1 + sum(map(self.expression, expressions)), [self.block(block) for block in blocks]
        match statement:
            case ir.If():
                return own + (sum(bodies) if self.written else max(bodies))
            case ir.Loop():
                total = (1 if self.written else statement.trips) * (1 + bodies[0])
                self.loops.append((total, statement))
                return total
            case _:
                return own

    def expression(self, expression: ir.Expression) -> int:
        own = 0 if isinstance(expression, ir.Number | ir.Parameter | ir.Local) else 1
        if isinstance(expression, ir.Call):
            own += self.helpers[expression.function]
        if isinstance(expression, ir.Occurrences) and expression.statistic.scope == "entity":
            own += int(expression.statistic.arguments[-1])  # an entity's observations are scanned
        return own + sum(self.expression(part) for part in ir.children(expression))


class _Depth:
    """Nesting depth of statements, expressions and helper calls.

    The tree is already bounded, but each helper starts its own tree; the reference interpreter recurses through all of
    them.
    """

    def __init__(self, program: ir.Module) -> None:
        self.program = program
        self.helpers: dict[str, int] = {}

    def check(self) -> None:
        for function in self.program.functions:
            self.helpers[function.name] = self.block(function.body)

    def block(self, body: tuple[ir.Statement, ...]) -> int:
        return max(map(self.statement, body), default=0)

    def statement(self, statement: ir.Statement) -> int:
        expressions, blocks = ir.inside(statement)
        return 1 + max((*map(self.expression, expressions), *map(self.block, blocks)), default=0)

    def expression(self, expression: ir.Expression) -> int:
        depth = 1 + max(map(self.expression, ir.children(expression)), default=0)
        if isinstance(expression, ir.Call):
            depth = max(depth, 1 + self.helpers[expression.function])
            if depth > grammar.MAX_CALL_DEPTH:
                message = f"the call of {expression.function!r} is nested {depth} deep, its helpers counted"
                hint = f"let helpers call fewer helpers: {grammar.MAX_CALL_DEPTH} levels in all at the most"
                raise Rejected((violation("too-deep", *expression.at, message, hint),))
        return depth
