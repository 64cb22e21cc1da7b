"""Abstract interpreter: follows all paths through a program at once, with bounds for each value.

It is sound: a value lies within its bounds, and cannot change with anything that it does not depend on. Conditions
narrow the values in the code that they guard (`if b > 0: a / b`), including those of `and`, `or` and `a if b else c`:
their parts are all evaluated, but values excluded by an earlier part cannot affect the result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from vulcan.anvil import ir
from vulcan.anvil.analysis.facts import (
    UNKNOWN,
    AbstractValue,
    AnalysisResult,
    Conditions,
    Shared,
    Source,
    State,
    join,
    meet,
    widened,
)
from vulcan.anvil.analysis.intervals import ANYTHING, OPERATION_BOUNDS, TRUTH, Interval, declared_bounds, point
from vulcan.anvil.rewrite.dead_code import cells_read
from vulcan.anvil.semantics import MAX
from vulcan.task import Signature


class Values(Conditions):
    """The evaluating half of a walk."""

    def value(self, e: ir.Expression, state: State) -> AbstractValue:
        if (found := state.values.get(id(e))) is not None:
            return found
        self.shared.steps += 1
        self.shared.depth += 1
        known = self.computed(e, state)
        self.shared.depth -= 1
        if state.facts and e in state.facts:
            known = known.narrowed(state.facts[e]) or known
        if (values := self.findings.values) is not None:
            values[id(e)] = values[id(e)] | known.bounds if id(e) in values else known.bounds
        state.values[id(e)] = found = AbstractValue(known.bounds) if known.is_one_value else known
        return found

    def computed(self, e: ir.Expression, state: State) -> AbstractValue:
        match e:  # the most frequent first
            case ir.Operate("and" | "or" as operation, operands):
                return self.sequence(operands, operation == "and", state)
            case ir.Operate() | ir.Compare() | ir.Call():
                parts = []
                for part in ir.children(e):
                    parts.append(self.value(part, state))
                if isinstance(e, ir.Operate):
                    return self.operation(e, parts)
                return (
                    self.comparison(e, parts, state)
                    if isinstance(e, ir.Compare)
                    else self.shared.call(e.function, parts)
                )
            case ir.Local(name):
                return state.names.get(name, UNKNOWN)
            case ir.Number() | ir.Parameter():
                return AbstractValue(self.shared.bounds.of(e, {}))
            case ir.Cell(name) if name in state.names:
                return state.names[name]
            case ir.Read() | ir.Statistic() | ir.Query() | ir.Cell() | ir.Draw():
                return AbstractValue(self.shared.bounds.of(e, {}), depends=frozenset((e,)))
            case ir.Element(name, index):
                depends = self.value(index, state).depends | {ir.Cell(name)}
                return AbstractValue(self.shared.bounds.of(e, {}), depends=depends)
            case ir.Occurrences(statistic, value):
                depends = self.value(value, state).depends | {statistic}
                return AbstractValue(self.shared.bounds.of(e, {}), depends=depends)
            case ir.Choose(test, then, otherwise):
                return self.choice(e, test, then, otherwise, state)

    def choice(
        self, e: ir.Choose, test: ir.Expression, then: ir.Expression, otherwise: ir.Expression, state: State
    ) -> AbstractValue:
        yes, no, depends = self.fork(test, state, e.at)
        a = self.value(then, yes) if yes is not None else None
        b = self.value(otherwise, no) if no is not None else None
        known = a | b if a is not None and b is not None else a or b or UNKNOWN
        return AbstractValue(known.bounds, known.depends | depends)

    def sequence(self, operands: tuple[ir.Expression, ...], is_and: bool, state: State) -> AbstractValue:
        """Evaluate `and` or `or`.

        `and` gives its first operand that is 0, `or` its first that is not, else the last; each operand is evaluated in
        the state where those before it did not decide.
        """
        result: AbstractValue | None = None
        depends: frozenset[Source] = frozenset()
        rest: State | None = state
        for number, operand in enumerate(operands, start=1):
            if rest is None:
                break
            known = self.value(operand, rest)
            depends |= known.depends
            last = number == len(operands)
            decided = known if last else self.part(known, not is_and)
            if decided is not None:
                result = decided if result is None else result | decided
            if not last:
                goes_on = known.may_be_other_than_zero if is_and else known.may_be_zero
                rest = self.where(operand, is_and, rest) if goes_on else None
        result = result or UNKNOWN
        return AbstractValue(result.bounds, depends)

    @staticmethod
    def part(known: AbstractValue, nonzero: bool) -> AbstractValue | None:
        """Return the part of its values that is 0, or that is not; None where it is empty."""
        if nonzero:
            return known.narrowed(ANYTHING, True)
        return AbstractValue(point(0.0), known.depends) if known.may_be_zero else None

    def comparison(self, e: ir.Compare, operands: list[AbstractValue], state: State) -> AbstractValue:
        truth = [
            _compared(op, a.bounds, b.bounds) if e.operands[i] != e.operands[i + 1] else op in ("<=", ">=", "==")
            for i, (op, a, b) in enumerate(zip(e.operators, operands, operands[1:], strict=False))
        ]
        known: bool | None = None
        if False in truth:
            known = False
        elif None not in truth:
            known = True
        elif state.facts and self.where(e, True, state) is None:
            known = False
        elif state.facts and self.where(e, False, state) is None:
            known = True
        self.findings.outcomes.setdefault((e.at, e), set()).update((True, False) if known is None else (known,))
        if known is not None:
            return AbstractValue(point(float(known)))
        return AbstractValue(TRUTH, depends=frozenset().union(*(operand.depends for operand in operands)))

    def operation(self, e: ir.Operate, operands: list[AbstractValue]) -> AbstractValue:
        operation = e.operation
        first = operands[0]
        depends: frozenset[Source] = frozenset().union(*(operand.depends for operand in operands))
        if operation in ("not", "truth") and not (first.may_be_zero and first.may_be_other_than_zero):
            return AbstractValue(point(float(first.may_be_zero == (operation == "not"))))
        bounds = OPERATION_BOUNDS[operation](*(operand.bounds for operand in operands))
        if operation == "multiply" and e.operands[0] == e.operands[1]:
            bounds = meet(bounds, Interval(0.0, MAX)) or bounds  # a square
        return AbstractValue(bounds, depends)


def _compared(op: str, x: Interval, y: Interval) -> bool | None:
    """Decide a comparison: True if it holds for all values, False for none, None for some."""
    if op in (">", ">="):
        op, x, y = {">": "<", ">=": "<="}[op], y, x
    match op:
        case "<":
            return True if x.high < y.low else False if x.low >= y.high else None
        case "<=":
            return True if x.high <= y.low else False if x.low > y.high else None
    apart = x.high < y.low or y.high < x.low
    same = x.low == x.high == y.low == y.high
    if op == "==":
        return False if apart else True if same else None
    return True if apart else False if same else None


_MAX_TURNS = 16
_TURNS_BEFORE_WIDENING = 3


def follow(
    program: ir.Module,
    signature: Signature,
    any_parameters: bool = False,
    keep_values: bool = False,
) -> AnalysisResult:
    """Analyse a program for all inputs that the signature declares.

    The parameters have their values, or any value if `any_parameters`. With `keep_values` the result includes the
    bounds of every expression.
    """
    shared = _begin(program, signature, any_parameters)
    if program.handlers:
        shared.bounds.state = state_bounds(program, signature, any_parameters)
    shared.findings.state = shared.bounds.state
    shared.findings.values = {} if keep_values else None
    for handler in program.handlers:
        shared.walk(handler, {})
    for entry in program.entries:
        shared.findings.results[entry.name] = shared.walk(entry, {})
    return shared.findings


def state_bounds(program: ir.Module, signature: Signature, any_parameters: bool = False) -> Mapping[str, Interval]:
    """Return bounds of each register, field and element of an array that hold at any time, whatever events happen.

    They are proved by induction: they contain the initial values, and whatever a handler writes where they hold before
    it. Without handlers nothing is known: the program may be a part of one that has them.
    """
    if not program.handlers:
        return declared_bounds(program, signature).state
    events = program.of_events()
    return proved_bounds(events, signature, any_parameters and bool(events.parameters))


@lru_cache(maxsize=256)  # the linter, proofs and the compiler ask for the same, and candidates share their handlers
def proved_bounds(program: ir.Module, signature: Signature, any_parameters: bool) -> Mapping[str, Interval]:
    """Return these bounds for a program of handlers alone."""
    parameters = _begin(program, signature, any_parameters).bounds.parameters
    first = {
        v.name: parameters[v.initial.name] if isinstance(v.initial, ir.Parameter) else point(v.initial.value)
        for v in program.variables
    }

    reads = {handler.name: sorted(cells_read(program, [handler])) for handler in program.handlers}
    written: dict[str, tuple[list[Interval], Mapping[str, Interval]]] = {}
    """What each handler writes where what it reads is within these bounds: it is walked again only where they widen."""

    def after(bounds: Mapping[str, Interval]) -> dict[str, Interval]:
        """Return bounds of the state that is initial, or was written where it was within these bounds."""
        found = dict(first)
        for handler in program.handlers:
            read = [bounds[name] for name in reads[handler.name]]
            if handler.name not in written or written[handler.name][0] != read:
                shared = _begin(program, signature, any_parameters)
                shared.bounds.state = bounds
                shared.walk(handler, {})
                written[handler.name] = read, shared.findings.stored
            for name, known in written[handler.name][1].items():
                if name in found:
                    found[name] |= known
        return found

    thresholds = _thresholds(program, signature)
    bounds, turn = first, 0
    while True:
        turn += 1
        joined = {name: bounds[name] | known for name, known in after(bounds).items()}
        if joined == bounds:
            break
        bounds = {
            name: _to_threshold(known, thresholds) if turn < _MAX_TURNS else widened(bounds[name], known)
            for name, known in joined.items()
        }
    return MappingProxyType(bounds)


def _thresholds(program: ir.Module, signature: Signature) -> list[float]:
    """Return the numbers that bounds of state are widened to, in order: those that a handler may limit it to."""
    held = {e.value for f in program.functions for e in ir.expressions(f.body) if isinstance(e, ir.Number)}
    declared = {bound for _, feature in signature.features() for bound in (feature.low, feature.high)}
    known = held | declared | {value for _, value in program.parameters}
    return sorted({0.0, 1.0, -MAX, MAX} | known | {-value for value in known})


def _to_threshold(bounds: Interval, thresholds: list[float]) -> Interval:
    """Return the bounds, widened to the nearest thresholds."""
    low = thresholds[bisect_right(thresholds, bounds.low) - 1]
    high = thresholds[bisect_left(thresholds, bounds.high)]
    return Interval(low, high, bounds.whole and abs(low) < MAX > abs(high))


def _begin(program: ir.Module, signature: Signature, any_parameters: bool) -> Shared:
    shared = Shared(program, signature, any_parameters)

    def walk(function: ir.Function, names: dict[str, AbstractValue]) -> AbstractValue:
        walked = _Function(shared)
        walked.block(function.body, State(names))
        return walked.result or UNKNOWN  # a function without a result is never called

    shared.walk = walk
    return shared


@dataclass
class _Loop:
    """A loop being walked: the states that leave its body early, and the sources that decide whether they do."""

    control: frozenset[Source] = frozenset()
    breaks: State | None = None
    continues: State | None = None


class _Function(Values):
    """A walk through one function; a state of None means unreachable."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.result: AbstractValue | None = None
        self.control: frozenset[Source] = frozenset()
        self.loops: list[_Loop] = []

    def block(self, body: tuple[ir.Statement, ...], state: State | None) -> State | None:
        for statement in body:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, statement: ir.Statement, state: State) -> State | None:
        match statement:
            case ir.Assign(name, value):
                known = self.value(value, state)
                state = state.copy()
                state.assign(name, AbstractValue(known.bounds, known.depends | self.control), value)
                return state
            case ir.Write(name, value, index):
                if index is not None:
                    self.value(index, state)
                known = self.value(value, state)
                before = self.findings.stored.get(name, known.bounds)
                self.findings.stored[name] = before | known.bounds
                state = state.copy()
                if index is not None:
                    state.forget(name)
                else:
                    known = AbstractValue(known.bounds, known.depends | self.control)
                    state.assign(name, known, value)
                return state
            case ir.Return(value):
                known = self.value(value, state)
                known = AbstractValue(known.bounds, known.depends | self.control)
                self.result = known if self.result is None else self.result | known
                return None
            case ir.If():
                return self.branch(statement, state)
            case ir.Loop():
                return self.loop(statement, state) if statement.trips else state
            case ir.Break():
                loop = self.loops[-1]
                loop.breaks, loop.control = join(loop.breaks, state), loop.control | self.control
                return None
            case ir.Continue():
                loop = self.loops[-1]
                loop.continues, loop.control = join(loop.continues, state), loop.control | self.control
                return None

    def branch(self, statement: ir.If, state: State) -> State | None:
        then, otherwise, depends = self.fork(statement.test, state, statement.at)
        before = self.control
        self.control = before | depends
        after = join(self.block(statement.then, then), self.block(statement.otherwise, otherwise))
        self.control = before
        return after

    def loop(self, statement: ir.Loop, state: State) -> State | None:
        values = range(statement.start, statement.stop, statement.step)
        bounds = Interval(float(min(values[0], values[-1])), float(max(values[0], values[-1])), True)
        loop, before = _Loop(), self.control
        self.loops.append(loop)
        unrolled = statement.trips if statement.trips <= _MAX_TURNS and self.shared.narrows else 0
        head, turn = state, 0
        while True:
            turn += 1
            self.control = before | loop.control
            loop.breaks = loop.continues = None
            start, control = head.copy(), loop.control
            start.assign(statement.name, AbstractValue(bounds, depends=self.control))
            back = join(self.block(statement.body, start), loop.continues)
            if back is None or (turn >= unrolled > 0 and control == loop.control):
                break
            joined = head | back
            if joined == head and control == loop.control:
                break
            head = joined if turn < max(unrolled, _TURNS_BEFORE_WIDENING) else joined.widened(head)
        self.loops.pop()
        self.control = before
        after = join(back, loop.breaks)
        if after is None:
            return None
        after = after.copy()
        for name in ir.assigned_names((statement,)) & after.names.keys():
            known = after.names[name]
            after.names[name] = AbstractValue(known.bounds, known.depends | loop.control)
        return after
