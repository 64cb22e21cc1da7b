"""What is known of every value of a program that is to be computed in integers: bounds and typical magnitudes."""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.anvil import program as p
from vulcan.anvil.flow.follow import follow
from vulcan.anvil.flow.intervals import ANYTHING, Interval, declared_bounds, point
from vulcan.errors import UserError
from vulcan.export.c.scale import (
    BITS,
    LEAST,
    Kind,
    typical_of_feature,
    typical_of_number,
    typical_of_operation,
)
from vulcan.task import Signature

_ROUNDS = 6
_MOST_HELD = 2.0 ** (BITS - LEAST)
_NOTHING = Kind(point(0.0), 0.0)


def refusal(why: str, at: p.Position = (0, 0)) -> UserError:
    where = f"line {at[0]}, column {at[1]}: " if at != (0, 0) else ""
    return UserError(f"the policy cannot be written in bounded integers: {where}{why}")


class Kinds:
    """`of(e, function)` is the kind of an expression in a function; `locals` and `results` those of names.

    A local has one kind throughout its function, the union of what is assigned to it, and so has an argument of a
    helper, whatever calls it.
    """

    def __init__(self, program: p.Program, signature: Signature) -> None:
        self.program = program
        self.values: Mapping[int, Interval] = follow(program, signature, keep_values=True).values or {}
        self.parameters = dict(program.parameters)
        self.declared = dict(signature.features())
        self.ranges = declared_bounds(program, signature)
        self.locals: dict[tuple[str, str], Kind] = {}
        self.results: dict[str, Kind] = {}
        self.functions = {f.name: f for f in program.functions}
        for _ in range(_ROUNDS):  # in which what is typical goes round loops and from callers to helpers
            for function in program.functions:
                self._block(function.body, function.name)

    def feature(self, name: str) -> Kind:
        """A feature, or what a history answers."""
        bounds = self.ranges.features[name]
        if name not in self.declared:
            return Kind(bounds, 0.0 if bounds.high <= 1.0 else 13.0)
        if bounds.magnitude > _MOST_HELD:
            raise refusal(f"the feature {name} may be as large as {bounds.magnitude:g}")
        return Kind(bounds | self.ranges.unknown[name], typical_of_feature(self.declared[name]))

    def statistic(self, statistic: p.Statistic) -> Kind:
        """What a statistic answers; of the same scale as the feature where it repeats an observation."""
        return Kind(self.ranges.statistic(statistic), self.feature(statistic.feature).typical)

    def local(self, name: str, function: str) -> Kind:
        return self.locals.get((function, name), _NOTHING)

    def bounds(self, e: p.Expression) -> Interval:
        return self.values.get(id(e), ANYTHING)

    def of(self, e: p.Expression, function: str) -> Kind:
        match e:
            case p.Number(value):
                return self.number(value)
            case p.Parameter(name):
                return self.number(self.parameters[name])
            case p.Local(name):
                return self.local(name, function)
            case p.Read(feature):
                return self.feature(feature)
            case p.Query(history, query):
                return self.feature(f"{history}.{query}")
            case p.Statistic():
                return self.statistic(e)
            case p.Occurrences() | p.Compare():
                return Kind(self.ranges.of(e, {}), 0.0)
            case p.Choose(_, then, otherwise):
                return Kind(self.bounds(e), max(self.of(then, function).typical, self.of(otherwise, function).typical))
            case p.Call(name, _):
                return self.results.get(name, _NOTHING)
            case p.Operate(operation, operands):
                kinds = [self.of(operand, function) for operand in operands]
                bounds = self.bounds(e)
                return Kind(bounds, typical_of_operation(operation, kinds, bounds))

    def number(self, value: float) -> Kind:
        return Kind(point(value), typical_of_number(value))

    # What is assigned

    def _block(self, body: tuple[p.Statement, ...], function: str) -> None:
        for e in p.expressions(body):
            if isinstance(e, p.Call):
                for argument, value in zip(self.functions[e.function].arguments, e.arguments, strict=True):
                    self._assign(argument, value, e.function, function)
        self._statements(body, function)

    def _statements(self, body: tuple[p.Statement, ...], function: str) -> None:
        for statement in body:
            match statement:
                case p.Assign(name, value):
                    self._assign(name, value, function, function)
                case p.If(_, then, otherwise):
                    self._statements(then, function)
                    self._statements(otherwise, function)
                case p.Loop(name=name, body=inner):
                    if statement.trips:
                        turns = range(statement.start, statement.stop, statement.step)
                        bounds = Interval(float(min(turns)), float(max(turns)), True)
                        self._join((function, name), Kind(bounds, typical_of_number(bounds.magnitude)))
                    self._statements(inner, function)
                case p.Return(value) if id(value) in self.values:
                    kind = self._evaluated(value, function)
                    self.results[function] = self.results.get(function, kind) | kind
                case _:
                    pass

    def _assign(self, name: str, value: p.Expression, owner: str, function: str) -> None:
        if id(value) in self.values:  # else it is never reached
            self._join((owner, name), self._evaluated(value, function))

    def _evaluated(self, value: p.Expression, function: str) -> Kind:
        return Kind(self.bounds(value), self.of(value, function).typical)

    def _join(self, key: tuple[str, str], kind: Kind) -> None:
        self.locals[key] = self.locals.get(key, kind) | kind
