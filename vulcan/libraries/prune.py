"""Which candidates earn a place in a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vulcan.libraries.contents import Earned, Scores


def prune(
    scores: Mapping[str, Scores], fallbacks: Mapping[str, Sequence[float]], margin: float, most: int
) -> list[str]:
    """The names of the members, in the order of the candidates.

    `scores` are the candidates' and `fallbacks` those of the task's own policy that they would replace, by objective. A
    candidate's gain on an instance is how much more it scores than every other that is left and than that policy. As
    long as one gains no more than `margin` on any instance, the one with the smallest mean gain goes, of equals the
    last; and then until `most` are left.
    """
    left = list(next(iter(scores.values())))
    while left:
        gains = {name: _gains(name, left, scores, fallbacks) for name in left}
        idle = [name for name in left if max(gains[name]) <= margin]
        if not idle and len(left) <= most:
            break
        among = idle or left
        gone = min(reversed(among), key=lambda name: sum(gains[name]))
        left.remove(gone)
    return left


def earned(
    name: str, members: Sequence[str], scores: Mapping[str, Scores], fallbacks: Mapping[str, Sequence[float]],
    instances: Sequence[str], margin: float,
) -> tuple[Earned, ...]:  # fmt: skip
    """The instances on which a member gains more than the margin, the largest gain first."""
    gains = _gains(name, members, scores, fallbacks)
    places = [(objective, instance) for objective in scores for instance in instances]
    found = [Earned(*place, by=gain) for place, gain in zip(places, gains, strict=True) if gain > margin]
    return tuple(sorted(found, key=lambda each: -each.by))


def _gains(
    name: str, left: Sequence[str], scores: Mapping[str, Scores], fallbacks: Mapping[str, Sequence[float]]
) -> list[float]:
    """On each instance under each objective: 0 where another one is as good."""
    gains: list[float] = []
    for objective, by_name in scores.items():
        others = [by_name[other] for other in left if other != name]
        best = [max(column) for column in zip(fallbacks[objective], *others, strict=True)]
        gains += [max(0.0, mine - other) for mine, other in zip(by_name[name], best, strict=True)]
    return gains
