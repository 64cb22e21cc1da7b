"""The state space of a proof: everything that a policy may be shown.

Each feature is anywhere within its declared range, at whole numbers where its type is int, and independently of every
other one. The answers of a history and the statistics are anywhere within the bounds of interval analysis, and no
consequence of the features: "all else equal" holds them equal in both copies. A statistic that looks for a value is an
unknown function of that value, the same in both copies; where it looks for the entity's own key it is, like a
history's answer, one number that both copies share.
"""

from __future__ import annotations

import math

from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import Bounds, Interval, declared_bounds
from vulcan.anvil.prove.terms import Graph, Input, Lookup, Term
from vulcan.task import Signature

_NOTHING = p.Program((), ())


class Inputs:
    """What one copy of a policy reads, as terms."""

    def __init__(self, graph: Graph, signature: Signature, subject: str | None = None, copy: int = 0) -> None:
        self._graph = graph
        self._signature = signature
        self._subject = subject
        self._copy = copy
        self._bounds: Bounds = declared_bounds(_NOTHING, signature)
        self._result: Term | None = None
        self.asked: dict[str, Interval] = {}
        """Everything that was read, by name, with its range; also what turned out not to matter."""

    def with_result(self, result: Term) -> Inputs:
        """The same, with what the policy returned read as the last argument."""
        other = Inputs(self._graph, self._signature, self._subject, self._copy)
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

    def statistic(self, statistic: p.Statistic) -> Term:
        return self._given(spelled(statistic, self._signature), self._bounds.statistic(statistic))

    def occurrences(self, statistic: p.Statistic, value: Term) -> Term:
        found = self._bounds.of(p.Occurrences(statistic, p.Number(0.0)), {})
        key = key_of(self._signature)
        if key is not None and value is self.read(key):
            return self._given(spelled(statistic, self._signature, key), found)
        return self._graph.lookup(Lookup(statistic, spelled(statistic, self._signature, "{}"), found), value)

    def query(self, query: p.Query) -> Term:
        name = f"{query.history}.{query.query}"
        return self._given(name, self._bounds.features[name])


def domain(declared: Interval) -> Interval:
    """The same, drawn in to whole numbers where there are no others."""
    if not declared.whole:
        return declared
    low, high = float(math.ceil(declared.low)), float(math.floor(declared.high))
    return Interval(low, high, True) if low <= high else declared


def key_of(signature: Signature) -> str | None:
    """The feature that identifies the entity, by the name it is read by."""
    entity = signature.entity
    return f"{entity.name}.{entity.key}" if entity is not None else None


def spelled(statistic: p.Statistic, signature: Signature, *before: str) -> str:
    """The statistic as it is written in a policy."""
    name, entity = statistic.feature, signature.entity
    owner, _, feature = name.partition(".")
    if entity is not None and owner == entity.name and statistic.scope != "entity":
        name = f"{entity.population}.{feature}"
    return (
        f"{name}.{statistic.kind}({', '.join((*before, *(repr(a).removesuffix('.0') for a in statistic.arguments)))})"
    )
