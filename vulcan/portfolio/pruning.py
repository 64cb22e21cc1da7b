"""The choice of a library's members among its candidates, by their scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vulcan.documents.library import Contribution, Scores


def prune(
    scores: Mapping[str, Scores],
    fallbacks: Mapping[str, Sequence[float]],
    margin: float,
    max_members: int,
    keep: Collection[str] = (),
) -> list[str]:
    """Return the names of the candidates that become members, in the order of the candidates.

    `scores` are the candidates' and `fallbacks` those of the task's own policy that they would replace, by objective. A
    candidate's gain on an instance is its lead over that policy and every other remaining candidate. While some
    candidate gains no more than `margin` on any instance, the one of these with the smallest mean gain is removed (of
    equals the last); then the one with the smallest mean gain of all, until `max_members` are left. Those in `keep` are
    never removed, and the others have to gain over them too.
    """
    left = list(next(iter(scores.values())))
    while left:
        gains = {name: _gains(name, left, scores, fallbacks) for name in left}
        loose = [name for name in left if name not in keep]
        idle = [name for name in loose if max(gains[name]) <= margin]
        if not idle and (len(left) <= max_members or not loose):
            break
        among = idle or loose
        gone = min(reversed(among), key=lambda name: sum(gains[name]))
        left.remove(gone)
    return left


def earned(
    name: str,
    members: Sequence[str],
    scores: Mapping[str, Scores],
    fallbacks: Mapping[str, Sequence[float]],
    instances: Sequence[str],
    margin: float,
) -> tuple[Contribution, ...]:
    """Return the instances on which a member gains more than the margin, largest gain first."""
    gains = _gains(name, members, scores, fallbacks)
    pairs = [(objective, instance) for objective in scores for instance in instances]
    found = [Contribution(*pair, by=gain) for pair, gain in zip(pairs, gains, strict=True) if gain > margin]
    return tuple(sorted(found, key=lambda each: -each.by))


def _gains(
    name: str, remaining: Sequence[str], scores: Mapping[str, Scores], fallbacks: Mapping[str, Sequence[float]]
) -> list[float]:
    """Return a candidate's gain on each instance under each objective: 0 where another one is as good."""
    gains: list[float] = []
    for objective, by_name in scores.items():
        others = [by_name[other] for other in remaining if other != name]
        best = [max(column) for column in zip(fallbacks[objective], *others, strict=True)]
        gains += [max(0.0, mine - other) for mine, other in zip(by_name[name], best, strict=True)]
    return gains
