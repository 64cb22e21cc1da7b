"""Derived statistics that make sense: drawn with their arguments, and changed."""

from __future__ import annotations

import math
from dataclasses import replace

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.grammar.grammar import Scope
from vulcan.generator.draft import PolicyDraft, rounded

_OWN = (
    (1.0, "recent"), (0.7, "window_avg"), (0.5, "avg"), (0.5, "min"), (0.5, "max"), (0.4, "window_percentile"),
    (0.1, "latest"),
)  # fmt: skip
_OF_INSTANT = ((4.0, "recent"), (0.5, "window_avg"), (0.5, "avg"))
_OF_SYSTEM = (
    (2.0, "min"), (2.0, "max"), (1.5, "avg"), (1.5, "window_percentile"), (1.0, "window_avg"), (0.5, "recent"),
    (0.2, "latest"),
)  # fmt: skip
"""Weights of the kinds beside the moving average."""

_RARELY = 0.4
"""How often another kind is drawn, to one moving average."""

_EARLIEST = 4
_MIN, _MAX = 4, 64
"""Windows that are drawn; what is looked for among the keys may be so far back that it left the system."""


def average(draft: PolicyDraft, e: ir.Expression, probability: float) -> ir.Expression:
    """The feature, or with the probability its moving average where there is one, or more rarely another statistic."""
    if isinstance(e, ir.Read) and e.feature in draft.words.streamed:
        scope = draft.words.streamed[e.feature]
        if draft.chance(probability):
            return ir.Statistic("ewma", scope, e.feature, (alpha(draft),))
        if draft.chance(_RARELY * probability):
            return stream(draft, e.feature, scope)
    return e


def stream(draft: PolicyDraft, feature: str, scope: Scope) -> ir.Statistic:
    """A statistic of the observations of a feature that is not its moving average."""
    kinds = _OF_SYSTEM if scope == "system" else _OF_INSTANT if feature in draft.words.units.points else _OWN
    kind = draft.pick(kinds)
    return ir.Statistic(kind, scope, feature, _arguments(draft, kind))


def percentile(draft: PolicyDraft, feature: str) -> ir.Statistic:
    return ir.Statistic("percentile", "population", feature, _arguments(draft, "percentile"))


def occurrence(draft: PolicyDraft) -> ir.Occurrences | None:
    """Whether, or how often, the value at hand was observed lately; None where there is nothing to look for."""
    words = draft.words
    places: list[tuple[str, Scope]] = [*words.streamed.items(), *((name, "system") for name in words.ranked)]
    places = [(name, scope) for name, scope in places if _recurs(draft, name)]
    if words.key is not None and (not places or draft.chance(0.7)):
        places = [(words.key, "system")]
    if not places:
        return None
    feature, scope = draft.rng.choice(places)
    kind = draft.pick(((2.0, "contains"), (1.0, "count")))
    length = _length(draft, 16, grammar.MAX_KEPT_OF_SYSTEM) if feature == words.key else _length(draft)
    return ir.Occurrences(ir.Statistic(kind, scope, feature, (length,)), ir.Read(feature))


def _recurs(draft: PolicyDraft, feature: str) -> bool:
    """Whether it may have a value that it had before: neither a time nor a measured quantity."""
    atom = draft.words.atom(ir.Read(feature))
    return atom is not None and atom.whole and feature not in draft.words.units.points


def alpha(draft: PolicyDraft) -> float:
    (argument,) = grammar.STATISTICS["ewma"].arguments
    return rounded(min(max(0.3 * draft.lognormal(0.9), argument.low), argument.high))


def changed(draft: PolicyDraft, old: ir.Statistic) -> ir.Statistic:
    """The statistic with other arguments, or of another kind."""
    others = [name for name, kind in grammar.STATISTICS.items() if old.scope in kind.scopes and not kind.looks_for]
    others = [name for name in others if name != old.kind]
    if others and (not old.arguments or draft.chance(0.25)):
        kind = draft.pick([(3.0 if name == "ewma" else 1.0, name) for name in others])
        return replace(old, kind=kind, arguments=_kept(draft, old, kind))
    return replace(old, arguments=_moved(draft, old))


def changed_occurrence(draft: PolicyDraft, old: ir.Occurrences) -> ir.Occurrences:
    """The same value looked for among more or fewer observations, or counted instead of found."""
    if draft.chance(0.3):
        return replace(old, statistic=replace(old.statistic, kind=_OTHER[old.statistic.kind]))
    return replace(old, statistic=replace(old.statistic, arguments=_moved(draft, old.statistic)))


_OTHER = {"count": "contains", "contains": "count"}


def _arguments(draft: PolicyDraft, kind: str) -> tuple[float, ...]:
    drawn = {"alpha": alpha, "p": _share, "k": _earlier, "n": _length}
    return tuple(drawn[argument.name](draft) for argument in grammar.STATISTICS[kind].arguments)


def _share(draft: PolicyDraft) -> float:
    return draft.rng.choice((0.1, 0.25, 0.5, 0.5, 0.75, 0.9, 0.95))


def _earlier(draft: PolicyDraft) -> float:
    return float(draft.pick(((0.5, 1), (3.0, 2), (1.5, 3), (1.0, _EARLIEST))))


def _length(draft: PolicyDraft, shortest: int = _MIN, longest: int = _MAX) -> float:
    """As many as some power of two, for one scale is as plausible as another."""
    return float(2 ** draft.rng.randint(int(math.log2(shortest)), int(math.log2(longest))))


def _kept(draft: PolicyDraft, old: ir.Statistic, kind: str) -> tuple[float, ...]:
    """Arguments of the other kind: those that both kinds have stay."""
    names = [argument.name for argument in grammar.STATISTICS[old.kind].arguments]
    have = dict(zip(names, old.arguments, strict=True))
    drawn = zip(grammar.STATISTICS[kind].arguments, _arguments(draft, kind), strict=True)
    return tuple(have.get(argument.name, value) for argument, value in drawn)


def _moved(draft: PolicyDraft, old: ir.Statistic) -> tuple[float, ...]:
    """The arguments with one of them moved by a step."""
    arguments = grammar.STATISTICS[old.kind].arguments
    index = draft.rng.randrange(len(arguments))
    argument, value = arguments[index], old.arguments[index]
    if argument.name == "p":  # steps in its odds keep it inside
        share = min(max(value, 0.005), 0.995)
        odds = math.log(share / (1.0 - share)) + draft.rng.gauss(0.0, 1.0)
        value = rounded(1.0 / (1.0 + math.exp(-odds)))
    elif argument.whole:
        step = max(1.0, round(value * (draft.lognormal(0.7) - 1.0))) if draft.chance(0.5) else -max(1.0, value // 2)
        low = argument.low if argument.name == "k" else min(_MIN, value)
        value = float(min(max(value + step, low), _most(draft, old, argument)))
    else:
        value = rounded(min(max(value * draft.lognormal(0.7), argument.low), argument.most(old.scope)))
    return (*old.arguments[:index], value, *old.arguments[index + 1 :])


def _most(draft: PolicyDraft, old: ir.Statistic, argument: grammar.StatisticArgument) -> float:
    if old.feature == draft.words.key:
        return argument.most(old.scope)
    return float(_EARLIEST if argument.name == "k" else max(_MAX, *old.arguments))
