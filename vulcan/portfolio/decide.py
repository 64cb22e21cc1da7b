"""The choice of a policy by a fingerprint."""

from __future__ import annotations

import math

TRIAL_SHARE = 0.7
"""How much of the expected score is the trial's, where there is one; the rest is the neighbours'."""


class Decision:
    """A decision. `ranked` are the choices with the scores that are expected of them, the best first; the
    fallback takes part. `name` is the first of them, or the fallback where `confidence` is below what is asked for.
    `distance` is that to the nearest training instance, which has the number `nearest`."""

    def __init__(
        self, name: str, ranked: list[tuple[str, float]], confidence: float, distance: float, nearest: int
    ) -> None:
        self.name = name
        self.ranked = ranked
        self.confidence = confidence
        self.distance = distance
        self.nearest = nearest


class Table:
    """The training instances: fingerprints, and what each choice scored there.

    `centre` and `scale` standardise a fingerprint, `points` are the standardised ones of the training instances.
    `scores` has the scores of each choice, an instance each. `method` is `neighbours`, by the mean over the `nearest`
    instances weighted by 1 / (distance^2 + (reach / 4)^2); or `trials`, by what each choice scored on the first events
    themselves, mixed with what the neighbours say.
    """

    def __init__(
        self,
        names: list[str],
        centre: list[float],
        scale: list[float],
        points: list[list[float]],
        scores: dict[str, list[float]],
        fallback: str,
        method: str,
        nearest: int,
        reach: float,
        least: float,
    ) -> None:
        self.names = names
        self.centre = centre
        self.scale = scale
        self.points = points
        self.scores = scores
        self.fallback = fallback
        self.method = method
        self.nearest = nearest
        self.reach = reach
        self.least = least

    def standardised(self, fingerprint: dict[str, float]) -> list[float]:
        return [
            (fingerprint[name] - centre) / scale
            for name, centre, scale in zip(self.names, self.centre, self.scale, strict=True)
        ]

    def decide(self, fingerprint: dict[str, float], trials: dict[str, float] | None = None) -> Decision:
        """Return the decision for this fingerprint; it is deterministic.

        `trials` are the scores of every choice on the first events; without them the method `trials` goes by the
        neighbours alone.
        """
        point = self.standardised(fingerprint)
        far = [math.dist(point, other) for other in self.points]
        order = sorted(range(len(far)), key=lambda number: (far[number], number))
        weights = self._by_neighbours(order, far)
        total = math.fsum(weights.values())
        expected = {
            name: math.fsum(weight * scores[number] for number, weight in weights.items()) / total
            for name, scores in self.scores.items()
        }
        if self.method == "trials" and trials is not None:
            expected = {
                name: TRIAL_SHARE * trials[name] + (1.0 - TRIAL_SHARE) * score for name, score in expected.items()
            }
        # of equals the fallback, and then the first by name
        ranked = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0] != self.fallback, pair[0]))
        distance = far[order[0]]
        confidence = 1.0 if distance <= self.reach else self.reach / distance
        name = ranked[0][0] if confidence >= self.least else self.fallback
        return Decision(name, ranked, confidence, distance, order[0])

    def _by_neighbours(self, order: list[int], far: list[float]) -> dict[int, float]:
        softened = (self.reach / 4) ** 2 + 1e-12
        return {number: 1.0 / (far[number] ** 2 + softened) for number in order[: self.nearest]}
