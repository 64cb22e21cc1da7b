"""Unfolds a program into terms: assignments put in, branches made choices, loops unrolled, helpers inlined."""

from __future__ import annotations

from typing import Protocol

from vulcan.anvil import ir
from vulcan.anvil.proofs.terms import Graph, Term, TooLarge

MAX_STEPS = 20_000

_Names = dict[str, Term]
_Ways = dict[str, tuple[Term, _Names]]
"""How statements can end, each with the test that it is so and what the names stand for then.

`on` goes on to the next statement; `return` (whose names are the one `return`), `break` and `continue` leave. Exactly
one of the tests holds.
"""


class Leaves(Protocol):
    """What a program reads, as terms."""

    def read(self, feature: str) -> Term: ...
    def statistic(self, statistic: ir.Statistic) -> Term: ...
    def occurrences(self, statistic: ir.Statistic, value: Term) -> Term: ...
    def query(self, query: ir.Query) -> Term: ...


class Unfolder:
    def __init__(self, graph: Graph, program: ir.Module, leaves: Leaves) -> None:
        self._graph = graph
        self._leaves = leaves
        self._program = program
        self._parameters = dict(program.parameters)
        self._functions = {f.name: f for f in program.functions}
        self._steps = 0

    def result(self) -> Term:
        """What the program returns. Raises TooLarge."""
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

    def _loop(self, loop: ir.Loop, names: _Names) -> _Ways:
        ways: _Ways = {"on": (self._graph.one, names)}
        for i in range(loop.start, loop.stop, loop.step):
            if "on" not in ways:
                break
            body = self._block(loop.body, {**ways["on"][1], loop.name: self._graph.number(float(i))})
            ways = self._after(ways, self._joined(body, "continue"))
        return self._joined(ways, "break")

    def _joined(self, ways: _Ways, kind: str) -> _Ways:
        """The same, what leaves by `kind` going on instead."""
        if kind not in ways:
            return ways
        test, names = ways[kind]
        rest = {k: way for k, way in ways.items() if k not in (kind, "on")}
        if "on" not in ways:
            return {**rest, "on": (test, names)}
        on, going = ways["on"]
        return {**rest, "on": (self._graph.choose(test, self._graph.one, on), self._merged(test, names, going))}

    def _after(self, first: _Ways, second: _Ways) -> _Ways:
        """The first, and where it goes on the second."""
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
