"""Random draws and mutations of plausible derived statistics, with their arguments."""

from __future__ import annotations

import math
from dataclasses import replace

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.grammar.tables import Scope
from vulcan.generator.draft import PolicyDraft, rounded

_OWN = (
    (1.0, "recent"),
    (0.7, "window_avg"),
    (0.5, "avg"),
    (0.5, "min"),
    (0.5, "max"),
    (0.4, "window_percentile"),
    (0.1, "latest"),
)
_OF_INSTANT = ((4.0, "recent"), (0.5, "window_avg"), (0.5, "avg"))
_OF_SYSTEM = (
    (2.0, "min"),
    (2.0, "max"),
    (1.5, "avg"),
    (1.5, "window_percentile"),
    (1.0, "window_avg"),
    (0.5, "recent"),
    (0.2, "latest"),
)
"""Weights of the kinds other than the moving average."""

_RARELY = 0.4
"""Probability of drawing another kind, relative to a moving average."""

_EARLIEST = 4
_MIN, _MAX = 4, 64
"""Range of drawn window lengths; a search among keys may reach back to entities that left the system."""


def average(draft: PolicyDraft, e: ir.Expression, probability: float) -> ir.Expression:
    """Return the feature, or with that probability its moving average if it has one, rarely another statistic."""
    if isinstance(e, ir.Read) and e.feature in draft.words.streamed:
        scope = draft.words.streamed[e.feature]
        if draft.chance(probability):
            return ir.Statistic("ewma", scope, e.feature, (alpha(draft),))
        if draft.chance(_RARELY * probability):
            return stream(draft, e.feature, scope)
    return e


def stream(draft: PolicyDraft, feature: str, scope: Scope) -> ir.Statistic:
    """Draw a statistic of a feature's observations other than the moving average."""
    kinds = _OF_SYSTEM if scope == "system" else _OF_INSTANT if feature in draft.words.units.points else _OWN
    kind = draft.pick(kinds)
    return ir.Statistic(kind, scope, feature, _arguments(draft, kind))


def percentile(draft: PolicyDraft, feature: str) -> ir.Statistic:
    return ir.Statistic("percentile", "population", feature, _arguments(draft, "percentile"))


def occurrence(draft: PolicyDraft) -> ir.Occurrences | None:
    """Draw a test or count of recent observations of the current value; None if no feature is suitable."""
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
    """Check whether the feature's values may recur, unlike a time or a measured quantity."""
    atom = draft.words.atom(ir.Read(feature))
    return atom is not None and atom.whole and feature not in draft.words.units.points


def alpha(draft: PolicyDraft) -> float:
    (argument,) = grammar.STATISTICS["ewma"].arguments
    return rounded(min(max(0.3 * draft.lognormal(0.9), argument.low), argument.high))


def changed(draft: PolicyDraft, old: ir.Statistic) -> ir.Statistic:
    """Return the statistic with another argument or of another kind."""
    others = [name for name, kind in grammar.STATISTICS.items() if old.scope in kind.scopes and not kind.looks_for]
    others = [name for name in others if name != old.kind]
    if others and (not old.arguments or draft.chance(0.25)):
        kind = draft.pick([(3.0 if name == "ewma" else 1.0, name) for name in others])
        return replace(old, kind=kind, arguments=_unchanged(draft, old, kind))
    return replace(old, arguments=_moved(draft, old))


def changed_occurrence(draft: PolicyDraft, old: ir.Occurrences) -> ir.Occurrences:
    """Return it over more or fewer observations, or with `count` and `contains` swapped."""
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
    """Draw a power of two, as all scales are equally plausible."""
    return float(2 ** draft.rng.randint(int(math.log2(shortest)), int(math.log2(longest))))


def _unchanged(draft: PolicyDraft, old: ir.Statistic, kind: str) -> tuple[float, ...]:
    """Draw arguments of another kind; those that both kinds have stay the same."""
    names = [argument.name for argument in grammar.STATISTICS[old.kind].arguments]
    have = dict(zip(names, old.arguments, strict=True))
    drawn = zip(grammar.STATISTICS[kind].arguments, _arguments(draft, kind), strict=True)
    return tuple(have.get(argument.name, value) for argument, value in drawn)


def _moved(draft: PolicyDraft, old: ir.Statistic) -> tuple[float, ...]:
    """Return the arguments with one of them changed by a random step."""
    arguments = grammar.STATISTICS[old.kind].arguments
    index = draft.rng.randrange(len(arguments))
    argument, value = arguments[index], old.arguments[index]
    if argument.name == "p":  # steps in log-odds keep it between 0 and 1
        share = min(max(value, 0.005), 0.995)
        odds = math.log(share / (1.0 - share)) + draft.rng.gauss(0.0, 1.0)
        value = rounded(1.0 / (1.0 + math.exp(-odds)))
    elif argument.whole:
        step = max(1.0, round(value * (draft.lognormal(0.7) - 1.0))) if draft.chance(0.5) else -max(1.0, value // 2)
        low = argument.low if argument.name == "k" else min(_MIN, value)
        value = float(min(max(value + step, low), _maximum(draft, old, argument)))
    else:
        value = rounded(min(max(value * draft.lognormal(0.7), argument.low), argument.most(old.scope)))
    return (*old.arguments[:index], value, *old.arguments[index + 1 :])


def _maximum(draft: PolicyDraft, old: ir.Statistic, argument: grammar.StatisticArgument) -> float:
    if old.feature == draft.words.key:
        return argument.most(old.scope)
    return float(_EARLIEST if argument.name == "k" else max(_MAX, *old.arguments))
