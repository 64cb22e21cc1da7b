"""Claims: properties and their conditions, with the program they are about, unfolded into terms.

Unfolding substitutes assignments, turns branches into choices, unrolls loops and inlines helpers.

A condition is an expression of Anvil. The language's own checker reads it as the body of a function with the arguments
of the function that the property is about and, in a claim, `result`: the policy's return value.

The state space of a proof is everything that a policy may be shown. Each feature is anywhere within its declared range,
integer if its type is int, and independent of all others. The answers of a history and the statistics are anywhere
within the bounds of interval analysis, independent of the features: "all else equal" makes them equal in both
copies. A statistic that looks for a value is an unknown function of that value, the same in both copies; if it looks
for the entity's own key it is, like a history's answer, one number that both copies share. The policy's own state is
the same in both copies: each register and field is a number within the bounds that hold whatever events happen
(`abstract_interpreter.state_bounds`), and an array is an unknown function of the wrapped index.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import state_bounds
from vulcan.anvil.analysis.intervals import Bounds, Interval, declared_bounds
from vulcan.anvil.check import check_tree
from vulcan.anvil.parse import parse
from vulcan.anvil.plan import Plan, make_plan
from vulcan.anvil.proofs.terms import Graph, Input, Lookup, Term, TooLarge
from vulcan.anvil.rejection import Rejected
from vulcan.anvil.unparse import key_of, statistic_source
from vulcan.errors import UserError
from vulcan.task import Argument, Feature, Property, Scalar, Signature, Task

MAX_STEPS = 20_000

_Names = dict[str, Term]
_Ways = dict[str, tuple[Term, _Names]]
"""Exits of statements, each with the test that it is taken and the values of the names then.

`on` falls through to the next statement; `return` (whose only name is `return`), `break` and `continue` leave. Exactly
one of the tests holds.
"""


class Unfolder:
    def __init__(self, graph: Graph, program: ir.Module, leaves: Inputs) -> None:
        self._graph = graph
        self._leaves = leaves
        self._program = program
        self._parameters = dict(program.parameters)
        self._functions = {f.name: f for f in program.functions}
        self._lengths = {v.name: v.length or 0 for v in program.variables}
        self._steps = 0

    def result(self) -> Term:
        """Return the program's result. Raises TooLarge."""
        return self._returned(self._program.entry, {})

    def _returned(self, function: ir.Function, names: _Names) -> Term:
        _, left = self._block(function.body, names)["return"]
        return left["return"]

    # Statements

    def _block(self, body: tuple[ir.Statement, ...], names: _Names) -> _Ways:
        ways: _Ways = {"on": (self._graph.one, names)}
        for statement in body:
            if "on" not in ways:
                break
            ways = self._after(ways, self._statement(statement, ways["on"][1]))
        return ways

    def _statement(self, statement: ir.Statement, names: _Names) -> _Ways:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooLarge(f"unfolded, it has more than {MAX_STEPS:,} statements")
        one = self._graph.one
        match statement:
            case ir.Assign(name, value):
                return {"on": (one, {**names, name: self._term(value, names)})}
            case ir.Return(value):
                return {"return": (one, {"return": self._term(value, names)})}
            case ir.Break():
                return {"break": (one, names)}
            case ir.Continue():
                return {"continue": (one, names)}
            case ir.If(test, then, otherwise):
                condition = self._graph.truth(self._term(test, names))
                if condition.number is not None:
                    return self._block(then if condition.number else otherwise, names)
                return self._branches(condition, self._block(then, names), self._block(otherwise, names))
            case ir.Loop():
                return self._loop(statement, names)
            case ir.Write():
                raise AssertionError("only handlers of events write state, and no property is about them")

    def _loop(self, loop: ir.Loop, names: _Names) -> _Ways:
        ways: _Ways = {"on": (self._graph.one, names)}
        for i in range(loop.start, loop.stop, loop.step):
            if "on" not in ways:
                break
            body = self._block(loop.body, {**ways["on"][1], loop.name: self._graph.number(float(i))})
            ways = self._after(ways, self._joined(body, "continue"))
        return self._joined(ways, "break")

    def _joined(self, ways: _Ways, kind: str) -> _Ways:
        """Return the exits with `kind` merged into `on`."""
        if kind not in ways:
            return ways
        test, names = ways[kind]
        rest = {k: way for k, way in ways.items() if k not in (kind, "on")}
        if "on" not in ways:
            return {**rest, "on": (test, names)}
        on, going = ways["on"]
        return {**rest, "on": (self._graph.choose(test, self._graph.one, on), self._merged(test, names, going))}

    def _after(self, first: _Ways, second: _Ways) -> _Ways:
        """Return the exits of `first` followed by `second`."""
        on, _ = first["on"]
        if len(first) == 1:
            return second
        graph = self._graph
        ways = {kind: way for kind, way in first.items() if kind != "on"}
        for kind, (test, names) in second.items():
            reached = graph.both(on, test)
            if kind in ways:
                left, before = ways[kind]
                ways[kind] = (graph.choose(left, graph.one, reached), self._merged(left, before, names))
            else:
                ways[kind] = (reached, names)
        return ways

    def _branches(self, test: Term, then: _Ways, otherwise: _Ways) -> _Ways:
        graph, ways = self._graph, {}
        for kind in [*then, *(k for k in otherwise if k not in then)]:
            holds, names = then.get(kind, (graph.zero, otherwise.get(kind, (graph.zero, {}))[1]))
            fails, others = otherwise.get(kind, (graph.zero, names))
            ways[kind] = (graph.choose(test, holds, fails), self._merged(test, names, others))
        return ways

    def _merged(self, test: Term, then: _Names, otherwise: _Names) -> _Names:
        if then is otherwise:
            return then
        return {n: self._graph.choose(test, then[n], otherwise[n]) for n in then if n in otherwise}

    # Expressions

    def _term(self, e: ir.Expression, names: _Names) -> Term:
        match e:
            case ir.Number(value):
                return self._graph.number(value)
            case ir.Parameter(name):
                return self._graph.number(self._parameters[name])
            case ir.Local(name):
                return names[name]
            case ir.Read(feature):
                return self._leaves.read(feature)
            case ir.Statistic():
                return self._leaves.statistic(e)
            case ir.Occurrences(statistic, value):
                return self._leaves.occurrences(statistic, self._term(value, names))
            case ir.Query():
                return self._leaves.query(e)
            case ir.Cell():
                return self._leaves.cell(e)
            case ir.Element(name, index):
                length = self._graph.number(float(self._lengths[name]))
                floor = self._graph.operate("floor", self._term(index, names))
                return self._leaves.element(name, self._graph.operate("modulo", floor, length))
        operands = tuple(self._term(part, names) for part in ir.children(e))
        match e:
            case ir.Choose():
                return self._graph.choose(*operands)
            case ir.Compare(operators):
                holds = self._graph.one
                for operator, a, b in zip(operators, operands, operands[1:], strict=False):
                    holds = self._graph.both(holds, self._graph.compare(operator, a, b))
                return holds
            case ir.Call(function):
                called = self._functions[function]
                return self._returned(called, dict(zip(called.arguments, operands, strict=True)))
            case ir.Operate(operation):
                return self._graph.operate(operation, *operands)
        raise AssertionError(e)


_NOTHING = ir.Module((), ())


class Inputs:
    """The inputs that one copy of a policy reads, as terms."""

    def __init__(
        self,
        graph: Graph,
        signature: Signature,
        state: Mapping[str, Interval],
        subject: str | None = None,
        copy: int = 0,
    ) -> None:
        self._graph = graph
        self._state = state
        self._signature = signature
        self._subject = subject
        self._copy = copy
        self._bounds: Bounds = declared_bounds(_NOTHING, signature)
        self._result: Term | None = None
        self.asked: dict[str, Interval] = {}
        """Everything that was read, by name, with its range; including inputs without influence."""

    def with_result(self, result: Term) -> Inputs:
        """Return the same inputs, with the policy's result as the last argument."""
        other = Inputs(self._graph, self._signature, self._state, self._subject, self._copy)
        other._result, other.asked = result, self.asked
        return other

    def _given(self, name: str, within: Interval, copy: int = 0) -> Term:
        self.asked[name] = within
        return self._graph.input(Input(name, within, copy))

    def read(self, feature: str) -> Term:
        if feature not in self._bounds.features and self._result is not None:
            return self._result
        copy = self._copy if feature == self._subject else 0
        return self._given(feature, domain(self._bounds.features[feature]), copy)

    def statistic(self, statistic: ir.Statistic) -> Term:
        return self._given(statistic_source(statistic, self._signature), self._bounds.statistic(statistic))

    def occurrences(self, statistic: ir.Statistic, value: Term) -> Term:
        found = self._bounds.of(ir.Occurrences(statistic, ir.Number(0.0)), {})
        key = key_of(self._signature)
        if key is not None and value is self.read(key):
            return self._given(statistic_source(statistic, self._signature, key), found)
        return self._graph.lookup(Lookup(statistic, statistic_source(statistic, self._signature, "{}"), found), value)

    def cell(self, cell: ir.Cell) -> Term:
        return self._given(cell.name, domain(self._state[cell.name]))

    def element(self, array: str, index: Term) -> Term:
        found = domain(self._state[array])
        return self._graph.lookup(Lookup(ir.Cell(array), f"{array}[{{}}]", found), index)

    def query(self, query: ir.Query) -> Term:
        name = f"{query.history}.{query.query}"
        return self._given(name, self._bounds.features[name])


def domain(declared: Interval) -> Interval:
    """Return the range, shrunk to integer bounds if its values are integers."""
    if not declared.whole:
        return declared
    low, high = float(math.ceil(declared.low)), float(math.floor(declared.high))
    return Interval(low, high, True) if low <= high else declared


RESULT = "result"
_MAX_OPERATIONS = 10_000


@dataclass(frozen=True, slots=True)
class Condition:
    text: str
    program: ir.Module
    plan: Plan
    signature: Signature


def condition(task: Task, declared: Property, what: str, text: str, of_result: bool) -> Condition:
    """Parse the condition in a property's `what` (its claim or its `when`). Raises UserError where it is invalid."""
    where = f"task {task.name!r}, property {declared.name!r}: {what} {text!r}"
    try:
        return _read(what, text, task.function(declared.function).arguments, of_result)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    except Rejected as rejected:
        first = rejected.violations[0]
        raise UserError(f"{where} is no condition over its features: {first.message}; {first.hint}") from rejected


@functools.lru_cache(maxsize=256)  # a search calls this for every candidate
def _read(what: str, text: str, arguments: tuple[Argument, ...], of_result: bool) -> Condition:
    if of_result:
        arguments += (Scalar(Feature(RESULT, "float", "result", -1e300, 1e300, "what the policy returned")),)
    asked = Signature(f"{what}_of_property", arguments, "whether it holds")
    source = f"def {asked.function}({', '.join(a.name for a in arguments)}):\n    return (\n{text}\n)\n"
    program = check_tree(parse(source), asked)
    return Condition(text, program, make_plan(program, _MAX_OPERATIONS), asked)


def check_properties(task: Task) -> None:
    """Raise UserError for a property whose subject or conditions do not fit the task's function."""
    for declared in task.properties:
        conditions(task, declared)


def conditions(task: Task, declared: Property) -> tuple[Condition | None, Condition | None]:
    """Return the property's `when` and claim. Raises UserError if its subject or one of these does not fit the task."""
    features = [name for name, _ in task.function(declared.function).features()]
    if declared.subject is not None and declared.subject not in features:
        raise UserError(
            f"task {task.name!r}, property {declared.name!r}: subject {declared.subject!r} is not a feature; "
            f"there are {', '.join(features)}"
        )
    when = None if declared.when is None else condition(task, declared, "when", declared.when, False)
    claim = None if declared.claim is None else condition(task, declared, "claim", declared.claim, True)
    return when, claim


@dataclass(frozen=True)
class Claim:
    """A property of one policy: on all inputs where every one of `assumed` holds, `concluded` does.

    `copies` are the results it is about: one, or two if it compares inputs that differ in the subject alone.
    """

    graph: Graph
    inputs: tuple[Inputs, ...]
    copies: tuple[Term, ...]
    assumed: tuple[Term, ...]
    concluded: Term

    @property
    def ranges(self) -> dict[str, Interval]:
        """Everything that the policy and the conditions read, by name."""
        return {name: within for each in self.inputs for name, within in each.asked.items()}


def statement(program: ir.Module, task: Task, declared: Property) -> Claim:
    """Return the property as terms. Raises TooLarge, and UserError if the property does not fit the task."""
    when, claim = conditions(task, declared)
    graph = Graph()
    subject = declared.subject
    pair = subject is not None
    signature = task.function(declared.function)
    function = program.of(signature.function)
    state = state_bounds(program, task.whole_interface)
    inputs = tuple(Inputs(graph, signature, state, subject, copy) for copy in ((1, 2) if pair else (0,)))
    copies = tuple(Unfolder(graph, function, each).result() for each in inputs)
    assumed = []
    if subject is not None:
        one, other = (each.read(subject) for each in inputs)
        assumed.append(graph.compare("<", one, other))  # equal inputs have equal results
    if when is not None:
        assumed += [graph.truth(Unfolder(graph, when.program, each).result()) for each in inputs]
    if claim is not None:
        (each,) = inputs
        concluded = graph.truth(Unfolder(graph, claim.program, each.with_result(copies[0])).result())
    else:
        concluded = _concluded(graph, declared, copies)
    return Claim(graph, inputs, copies, tuple(assumed), concluded)


def _concluded(graph: Graph, declared: Property, copies: tuple[Term, ...]) -> Term:
    match declared.kind, copies:
        case "nondecreasing", (first, second):
            return graph.compare("<=", first, second)
        case "nonincreasing", (first, second):
            return graph.compare(">=", first, second)
        case "independent", (first, second):
            return graph.compare("==", first, second)
        case "bounded", (result,):
            holds = graph.one
            if declared.low is not None:
                holds = graph.both(holds, graph.compare(">=", result, graph.number(float(declared.low))))
            if declared.high is not None:
                holds = graph.both(holds, graph.compare("<=", result, graph.number(float(declared.high))))
            return holds
    raise AssertionError(declared)
