"""The reference: a program run under CPython by the definitions of `semantics`, slowly and plainly.

What every other back end computes is measured against this.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Hashable, Mapping

from vulcan.anvil import grammar, quantise
from vulcan.anvil import program as p
from vulcan.anvil import semantics as total
from vulcan.anvil.plan import Plan
from vulcan.task import Feature, Signature

Features = Mapping[str, float]
"""Values by the name they are read by; a history's answers under `ghost.contains` and the like."""

_COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class _Returned(Exception):
    def __init__(self, value: float) -> None:
        self.value = value


class _Broken(Exception):
    pass


class _Continued(Exception):
    pass


class Reference:
    """A policy with its statistics, for one run.

    The evaluator tells it what happens to entities (`observe` when one enters and whenever it is touched, `forget`
    when it leaves) and asks it for numbers by calling it.
    """

    def __init__(self, program: p.Program, plan: Plan, signature: Signature) -> None:
        self._program = program
        self._plan = plan
        self._parameters = dict(program.parameters)
        self._functions = {f.name: f for f in program.functions}
        self._declared: dict[str, Feature] = dict(signature.features())
        self._averages: dict[Hashable, dict[p.Statistic, float]] = {}
        self._latest: dict[Hashable, dict[str, int]] = {}
        self._populations: dict[str, list[int]] = {feature: [] for feature in plan.populations}

    def observe(self, key: Hashable, features: Features) -> None:
        """The entity entered, or was touched: its statistics take in its features as they are now."""
        averages = self._averages.setdefault(key, {})
        for statistic in self._plan.averages:
            value = features[statistic.feature]
            old = averages.get(statistic)
            averages[statistic] = value if old is None else old + statistic.argument * (value - old)
        latest = self._latest.setdefault(key, {})
        for feature, population in self._populations.items():
            bucket = quantise.bucket_of(features[feature], self._declared[feature].resolution)
            if feature in latest:
                population.pop(bisect_left(population, latest[feature]))
            insort(population, bucket)
            latest[feature] = bucket

    def forget(self, key: Hashable) -> None:
        """The entity left; nothing of it stays."""
        self._averages.pop(key, None)
        for feature, bucket in self._latest.pop(key, {}).items():
            population = self._populations[feature]
            population.pop(bisect_left(population, bucket))

    def __call__(self, features: Features, key: Hashable = None) -> float:
        """The policy's number for these features and, where it reads statistics of an entity, that entity."""
        return self._run(self._program.entry, {}, features, key)

    def _run(self, function: p.Function, names: dict[str, float], features: Features, key: Hashable) -> float:
        try:
            self._block(function.body, names, features, key)
        except _Returned as returned:
            return returned.value
        raise AssertionError(f"{function.name} did not return: the checker let it through")

    def _block(self, body: tuple[p.Statement, ...], names: dict[str, float], features: Features, key: Hashable) -> None:
        for statement in body:
            match statement:
                case p.Assign(name, value):
                    names[name] = self._value(value, names, features, key)
                case p.If(test, then, otherwise):
                    chosen = then if self._value(test, names, features, key) != 0.0 else otherwise
                    self._block(chosen, names, features, key)
                case p.Loop(name, start, stop, step, inner):
                    for i in range(start, stop, step):
                        names[name] = float(i)
                        try:
                            self._block(inner, names, features, key)
                        except _Continued:
                            continue
                        except _Broken:
                            break
                case p.Break():
                    raise _Broken
                case p.Continue():
                    raise _Continued
                case p.Return(value):
                    raise _Returned(self._value(value, names, features, key))

    def _value(self, e: p.Expression, names: dict[str, float], features: Features, key: Hashable) -> float:
        match e:
            case p.Number(value):
                return value
            case p.Parameter(name):
                return self._parameters[name]
            case p.Local(name):
                return names[name]
            case p.Read(feature):
                return float(features[feature])
            case p.Query(history, query):
                return float(features[f"{history}.{query}"])
            case p.Statistic():
                return self._statistic(e, key)
            case p.Choose(test, then, otherwise):
                return self._value(then if self._value(test, names, features, key) != 0.0 else otherwise,
                                   names, features, key)  # fmt: skip
        operands = [self._value(part, names, features, key) for part in p.children(e)]
        match e:
            case p.Compare(operators):
                pairs = zip(operators, operands, operands[1:], strict=False)
                return 1.0 if all(_COMPARE[op](a, b) for op, a, b in pairs) else 0.0
            case p.Call(function):
                helper = self._functions[function]
                return self._run(helper, dict(zip(helper.arguments, operands, strict=True)), features, key)
            case p.Operate("and" | "or" as operation):
                result = operands[0]
                for operand in operands[1:]:
                    result = total.both(result, operand) if operation == "and" else total.either(result, operand)
                return result
            case p.Operate(operation):
                return grammar.OPERATIONS[operation].evaluate(*operands)
        raise AssertionError(e)

    def _statistic(self, statistic: p.Statistic, key: Hashable) -> float:
        declared = self._declared[statistic.feature]
        if statistic.kind == "ewma":
            return self._averages.get(key, {}).get(statistic, declared.unknown)
        population = self._populations[statistic.feature]
        if not population:
            return declared.unknown
        rank = max(1, math.ceil(statistic.argument * len(population)))
        return quantise.value_of(population[rank - 1], declared.resolution)
