"""Behavioural comparison of expressions, by their results on random features, before any scoring."""

from __future__ import annotations

import functools
import math
import operator
import random
from collections.abc import Callable, Mapping

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.semantics import COMPARE
from vulcan.generator.vocabulary import Atom, Vocabulary
from vulcan.task import Feature

_GROUPS = 16
_MEMBERS = 6
_MAX = 1e7
_OF_SYSTEM, _OF_ENTITY = "state of the system", "state of the entity"
"""Keys of made-up numbers that vary between groups, and between the entities of a group."""
_EDGES = ("one", "other")
"""Keys of two made-up numbers per feature and scope, between which each statistic's value lies."""

Behaviour = tuple[tuple[int, ...] | float, ...]
"""The order of the entities in each group for a RANK, the clamped results for a VALUE."""

_Function = Callable[[Mapping[str, float]], float]


class Probe:
    """Groups of entities in made-up situations, the same for every expression of the task.

    An entity's features are drawn log-uniformly from their ranges, those of the whole system once per group.
    """

    def __init__(self, words: Vocabulary) -> None:
        self._words = words
        rng = random.Random("probe")
        self._groups = [self._group(rng) for _ in range(_GROUPS)]
        of_state = random.Random("state")
        for group in self._groups:
            system = of_state.random()
            for member in group:
                member[_OF_SYSTEM], member[_OF_ENTITY] = system, of_state.random()

    def behaviour(self, e: ir.Expression, parameters: Mapping[str, float]) -> Behaviour:
        compute = _compiled(e, parameters)
        found: list[tuple[int, ...] | float] = []
        for group in self._groups:
            values = [compute(features) for features in group]
            bounds = self._words.result_range
            if bounds is None:
                ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
                found.append(tuple(ranks[value] for value in values))
            else:
                found.extend(float(f"{min(max(value, bounds[0]), bounds[1]):.2g}") for value in values)
        return tuple(found)

    def is_flat(self, behaviour: Behaviour) -> bool:
        """Check whether the behaviour is constant: all entities tied, or one result for everything."""
        if self._words.ranks:
            return not any(any(order) for order in behaviour if isinstance(order, tuple))
        return len(set(behaviour)) == 1

    def _group(self, rng: random.Random) -> list[dict[str, float]]:
        shared: dict[str, float] = {}
        for atom in self._words.of("clock"):
            shared[_key(atom)] = rng.uniform(0.1, 1.0) * min(atom.high, _MAX)
        for atom in self._words.of("global", "scale"):
            shared[_key(atom)] = _drawn(rng, atom)
        for name, feature in self._words.task.signature.features():
            known = self._words.atom(ir.Read(name))
            for name_in_scope in (f"{name}.{scope}.{edge}" for scope in ("system", "population") for edge in _EDGES):
                shared[name_in_scope] = self._entity_value(rng, known, shared) if known else _any_value(rng, feature)
        return [self._member(rng, shared) for _ in range(_MEMBERS)]

    def _member(self, rng: random.Random, shared: Mapping[str, float]) -> dict[str, float]:
        made = dict(shared)
        for atom in self._words.of("entity", "instant", "flag"):
            made[_key(atom)] = self._entity_value(rng, atom, shared)
        for name, feature in self._words.task.signature.features():
            if name not in made:  # an identity, or excluded by a property; a parent may still read it
                made[name] = _any_value(rng, feature)
            for edge in _EDGES:
                made[f"{name}.entity.{edge}"] = made[name] * rng.uniform(0.5, 1.0)
            for scope in ("entity", "system"):
                made[f"{name}.{scope}.found"] = rng.random()
        remembered = rng.random() < 0.4
        for atom in self._words.of("history", "flag"):
            if isinstance(atom.expression, ir.Query):
                value = 1.0 if atom.kind == "flag" else math.floor(_drawn(rng, atom)) + 1.0
                made[_key(atom)] = value if remembered else 0.0
        return made

    def _entity_value(self, rng: random.Random, atom: Atom, shared: Mapping[str, float]) -> float:
        if atom.kind == "flag":
            return float(rng.random() < 0.5)
        if atom.kind == "instant":
            now = shared[_key(self._words.clocks_of(atom)[0])]
            return max(atom.low, now - math.floor(math.exp(rng.uniform(0.0, math.log(max(now, 2.0))))))
        return _drawn(rng, atom)


def _key(atom: Atom) -> str:
    e = atom.expression
    return e.feature if isinstance(e, ir.Read) else f"{e.history}.{e.query}"


def _any_value(rng: random.Random, feature: Feature) -> float:
    return rng.uniform(max(feature.low, -_MAX), min(feature.high, _MAX))


def _drawn(rng: random.Random, atom: Atom) -> float:
    low, high = max(atom.low, -_MAX), min(atom.high, _MAX)
    if low >= 0.0 and high > 100.0:
        value = math.exp(rng.uniform(math.log(max(low, 1.0)), math.log(high)))
    else:
        value = rng.uniform(low, high)
    return math.floor(value) if atom.whole else value


def _compiled(e: ir.Expression, parameters: Mapping[str, float]) -> _Function:
    """Compile the expression to nested Python closures over the features, as it is evaluated a hundred times."""
    match e:
        case ir.Number(value):
            return lambda _: value
        case ir.Parameter(name):
            setting = parameters[name]
            return lambda _: setting
        case ir.Read(name):
            return operator.itemgetter(name)
        case ir.Statistic(kind, scope, name, arguments):
            one, other = (f"{name}.{scope}.{edge}" for edge in _EDGES)
            weight = random.Random(f"{kind} {arguments}").random()  # so that each statistic makes a difference
            return lambda features: features[one] + weight * (features[other] - features[one])
        case ir.Occurrences(statistic):
            return _found(statistic)
        case ir.Query(history, query):
            return operator.itemgetter(f"{history}.{query}")
        case ir.Cell(name):
            return _of_state(name, name.partition(".")[0] != ir.STATE)
        case ir.Element(name, index):
            return _of_state(name, varies=not is_shared(index))
        case ir.Local() | ir.Call() | ir.Draw():
            raise ValueError(f"{e} has no value outside of its program")
    parts = [_compiled(part, parameters) for part in ir.children(e)]
    if isinstance(e, ir.Choose):
        test, then, otherwise = parts
        return lambda features: then(features) if test(features) != 0.0 else otherwise(features)
    if isinstance(e, ir.Compare):
        return _comparison(e.operators, parts)
    evaluate = grammar.OPERATIONS[e.operation].evaluate
    if len(parts) == 2:
        left, right = parts
        return lambda features: evaluate(left(features), right(features))
    if e.operation in ("and", "or"):
        return lambda features: functools.reduce(evaluate, (part(features) for part in parts))
    return lambda features: evaluate(*(part(features) for part in parts))


def is_shared(e: ir.Expression) -> bool:
    """Check whether the expression reads no feature of an entity, as far as its form shows."""
    leaves = (part for part in ir.parts(e) if not ir.children(part))
    return all(isinstance(leaf, ir.Number | ir.Parameter | ir.Cell) for leaf in leaves)


def _of_state(name: str, varies: bool) -> _Function:
    """Return made-up values of a register, field or element, from 0.02 to 3,000 and the same for all of one name."""
    key, offset = _OF_ENTITY if varies else _OF_SYSTEM, random.Random(name).random()
    return lambda features: math.exp(12.0 * ((features[key] + offset) % 1.0) - 4.0)


def _found(statistic: ir.Statistic) -> _Function:
    key, (n,) = f"{statistic.feature}.{statistic.scope}.found", statistic.arguments
    if statistic.kind == "contains":
        return lambda features: float(features[key] < n / (n + 32.0))
    return lambda features: float(math.floor(n * features[key] ** 2.0))


def _comparison(operators: tuple[str, ...], parts: list[_Function]) -> _Function:
    def holds(features: Mapping[str, float]) -> float:
        values = [part(features) for part in parts]
        pairs = zip(operators, values, values[1:], strict=False)
        return float(all(COMPARE[name](a, b) for name, a, b in pairs))

    return holds
