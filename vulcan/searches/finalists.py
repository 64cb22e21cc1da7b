"""The finalists of a search: candidates that behave differently, the smallest program of each kind.

The best candidates on train are often one policy many times over, with constants that hardly matter. What all of them
have in common may not carry over to other data, so the finalists differ by what they did on train, and validation
chooses among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import CandidateJudged

NOISE = 0.01
"""Difference of scores within which two programs count as equal, as a share of the best candidate's lead over the
median one: a scale that every objective has."""


def noise_of(record: RunRecord) -> float:
    """Return the difference of scores that says nothing, in units of the objective."""
    scores = [c.score for c in record.ranked() if c.score is not None]
    return NOISE * (scores[0] - median(scores)) if scores else 0.0


def find_finalists(record: RunRecord, scorer: Scorer, count: int) -> list[CandidateJudged]:
    """Return the best candidates on train that differ, then the policies that the search began with.

    Two differ where their scores do on some training instance, or on a cheaper version of them. Of those that do not,
    such as a program and its simplified form, the smallest stands for all. There are at most `count`, and the policies
    to begin with always.
    """
    noise, train = noise_of(record), scorer.of("train")
    found: list[tuple[CandidateJudged, dict[str, float]]] = []
    ranked = record.ranked()
    for candidate in ranked:
        scores = zip(train, scorer.on_each(train, candidate.metrics), strict=True)
        behaviour = {**{i.name: score for i, score in scores}, **dict(candidate.rungs)}
        alike = next((n for n, (_, other) in enumerate(found) if _alike(behaviour, other, noise)), None)
        if alike is None:
            if len(found) < count:
                found.append((candidate, behaviour))
        elif (candidate.size or 0) < (found[alike][0].size or 0):
            found[alike] = candidate, found[alike][1]  # the scores stay those of the best: others must come near them
    chosen = [candidate for candidate, _ in found]
    return chosen + [c for c in ranked if c.origin == "seed" and c not in chosen]


def _alike(one: dict[str, float], other: dict[str, float], noise: float) -> bool:
    return all(abs(score - other[name]) <= noise for name, score in one.items() if name in other)


def best_of(scored: Iterable[tuple[CandidateJudged, float]], noise: float) -> CandidateJudged:
    """Return the smallest of the candidates whose score is within the noise of the highest; of equals the best."""
    pairs = list(scored)
    best = max(score for _, score in pairs)
    near = [(candidate, score) for candidate, score in pairs if score >= best - noise]
    return min(near, key=lambda pair: (pair[0].size or 0, -pair[1]))[0]
