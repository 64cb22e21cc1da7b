"""The verdict on a search: whether what it found is better than the best that was known before.

It is computed from stored scores, on validation; the split test has no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from vulcan.documents.verdict import Conclusion
from vulcan.evaluator import SplitName
from vulcan.searches.evidence import MIN_INSTANCES, SPLITS
from vulcan.searches.held_out import HeldOut, Name
from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import InstanceMetrics

if TYPE_CHECKING:
    from vulcan.searches.bootstrap import ConfidenceInterval

PolicyKind = Literal["candidate", "start", "baseline"]


@dataclass(frozen=True, slots=True)
class Gain:
    """The winner's mean score minus that of a known policy on a split.

    `interval` is paired: over the differences on each of `count` units, which are instances or blocks of time. `shrunk`
    is the gain less what choosing among several candidates adds to it by luck.
    """

    over: str
    kind: PolicyKind
    split: SplitName
    gain: float
    shrunk: float
    interval: ConfidenceInterval | None
    units: Literal["instances", "windows"]
    count: int
    recent: float
    """Mean difference on the later half of the blocks of time; on instances, the gain."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The conclusion, in a sentence too, and the recommended policy.

    `candidate` is its number where it is one of the run's. `exported` is the candidate to export: the recommended one,
    or, where `stands_for` is true, the one of a baseline's name, or else the run's best; of an undecided search it is
    the winner. `second` is the winner where it is not recommended, and `to_add` the evidence that is missing.
    """

    conclusion: Conclusion
    sentence: str
    kind: PolicyKind | None
    policy: str | None
    candidate: int | None
    exported: int | None
    stands_for: bool
    second: int | None
    to_add: str
    gains: tuple[Gain, ...]


@dataclass(frozen=True)
class Comparison:
    """Scores of a run's candidates and baselines; `starts` are the names of those that the search began with."""

    record: RunRecord
    scorer: Scorer
    held_out: HeldOut
    starts: Mapping[int, str]

    def mean(self, policy: Name, split: SplitName) -> float | None:
        """Return the mean score on a split; None where the policy was not measured there, or failed."""
        if isinstance(policy, str):
            known = self.record.baselines.get((policy, split))
            return None if known is None else known.score
        metrics = self.metrics(policy, split)
        return self.scorer.mean(split, metrics) if metrics else None

    def metrics(self, policy: Name, split: SplitName) -> InstanceMetrics:
        """Return the metrics on each instance of a split; empty where the policy was not measured there, or failed."""
        if isinstance(policy, str):
            known = self.record.baselines.get((policy, split))
            return () if known is None else known.metrics
        if split == "train":
            judged = self.record.candidates[policy]
            return judged.metrics if judged.score is not None else ()
        confirmed = self.record.confirmed.get((policy, split))
        if confirmed is not None:
            return confirmed.metrics if confirmed.score is not None else ()
        return self.held_out.metrics.get((policy, split), ())

    def in_windows(self, split: SplitName) -> bool:
        """Check whether the split has too few instances to compare on, and their blocks of time take their place."""
        return split != "train" and len(self.scorer.of(split)) < MIN_INSTANCES

    def units(self, policy: Name, split: SplitName) -> list[float] | None:
        """Return the scores on each instance, or the mean over instances in each block of time; None where unknown."""
        if not self.in_windows(split):
            metrics = self.metrics(policy, split)
            return list(self.scorer.on_each(self.scorer.of(split), metrics)) if metrics else None
        measured = self.held_out.on_windows.get((policy, split))
        blocks = [self.held_out.windows.get((split, i.name), ()) for i in self.scorer.of(split)]
        if measured is None or not all(blocks):
            return None
        scores = [[self._windows.on_instance(split, name, measured[name]) for name in names] for names in blocks]
        return [fmean(at_once) for at_once in zip(*scores, strict=True)]

    @cached_property
    def _windows(self) -> Scorer:
        scorer = Scorer(self.scorer.objective, ())
        for (policy, split), measured in self.held_out.on_windows.items():
            if isinstance(policy, str):
                scorer.add_reference(policy, split, tuple(measured.items()))
        return scorer

    def gain(self, winner: int, over: Name, split: SplitName, bias: float = 0.0) -> Gain | None:
        """Return the winner's gain over a policy; None where one of them has no score. `bias` is that of its choice."""
        own, other = self.mean(winner, split), self.mean(over, split)
        if own is None or other is None:
            return None
        from vulcan.searches.bootstrap import mean_interval  # imports numpy

        gain = own - other
        mine, theirs = self.units(winner, split), self.units(over, split)
        differences = [a - b for a, b in zip(mine, theirs, strict=True)] if mine and theirs else []
        in_time = self.in_windows(split)
        recent, interval = gain, None
        if differences:
            objective = self.scorer.objective
            offset = gain - fmean(differences)  # a ratio of the whole is not the mean of the ratios of its parts
            differences = [d + offset for d in differences]
            widest = objective.highest - objective.lowest
            interval = mean_interval(differences, within=(-widest, widest), in_time=in_time)
            recent = fmean(differences[len(differences) // 2 :]) if in_time else gain
        return Gain(
            over=over if isinstance(over, str) else self.starts.get(over, f"candidate {over}"),
            kind="baseline" if isinstance(over, str) else "start",
            split=split,
            gain=gain,
            shrunk=gain - bias,
            interval=interval,
            units="windows" if in_time else "instances",
            count=len(differences),
            recent=recent,
        )

    def bias(self, split: SplitName) -> float:
        """Return what choosing the best finalist on a split adds to its score by luck."""
        from vulcan.searches.bootstrap import selection_bias

        finalists = {c: self.units(c, where) for c, where in self.record.confirmed if where == split}
        return selection_bias([scores for scores in finalists.values() if scores])

    def best_start(self, split: SplitName) -> int | None:
        """Return the best of the policies that the search began with; of equals the better on train."""
        known = {start: score for start in self.starts if (score := self.mean(start, split)) is not None}
        return max(known, key=lambda start: known[start], default=None)

    def gains(self, winner: int) -> Iterator[Gain]:
        """Yield the winner's gain over the best baseline and over the best start, on each split."""
        for split in SPLITS:
            bias = self.bias(split) if split == "validation" else 0.0
            best = self.record.best_baseline(split)
            others: list[Name | None] = [best.policy if best else None, self.best_start(split)]
            for other in others:
                if other is not None and (gain := self.gain(winner, other, split, bias)) is not None:
                    yield gain


def verdict_of(compared: Comparison) -> RunVerdict | None:
    """Return the verdict on a finished search; None before it has chosen a winner, or ended without one."""
    record = compared.record
    if record.chosen is None:
        return _without_winner(compared) if record.stopped and record.stopped.reason == "finished" else None
    winner = record.chosen.candidate
    gains = tuple(compared.gains(winner))
    held_out = bool(compared.scorer.of("validation"))
    split: SplitName = "validation" if held_out else "train"
    known = _best_known(compared, split)
    if known is None:
        to_add = "a baseline, or a policy to begin with, to compare it with"
        return _undecided(compared, f"candidate {winner} has nothing to be compared with", winner, None, to_add, gains)
    score = compared.mean(winner, split)
    over_baseline = _over(gains, split, "baseline")
    over_best = over_baseline if isinstance(known, str) else _over(gains, split, "start")
    if score is None or winner in compared.starts or over_best is None or over_best.shrunk <= 0:
        return _no_better(compared, winner, known, split, gains)
    if not held_out:
        to_add = "held-out data: search without `--split none`, or with instances of the split validation"
        why = f"nothing was held out to compare candidate {winner} on"
        return _undecided(compared, why, winner, known, to_add, gains)
    return _by_evidence(compared, over_baseline or over_best, winner, known, gains)


def _by_evidence(compared: Comparison, gain: Gain, winner: int, known: Name, gains: tuple[Gain, ...]) -> RunVerdict:
    where = f"the best baseline, {gain.over}," if gain.kind == "baseline" else f"{gain.over}, which it began with,"
    claim = f"candidate {winner} is {gain.gain:.4f} above {where} on validation"
    interval = gain.interval
    if interval is None:
        what = f"{MIN_INSTANCES} instances or more of the split validation, for an interval of the gain"
        return _undecided(compared, f"{claim}, on too little evidence", winner, known, what, gains)
    luck = gain.gain - gain.shrunk
    low, high = interval.low - luck, interval.high - luck
    ends = f"95% interval {low:.4f} to {high:.4f}"
    if low <= 0:
        why = f"{claim}, which may be chance ({ends})"
        return _undecided(compared, why, winner, known, _missing(gain, low), gains)
    if gain.recent <= 0:
        what = "a longer trace, or a later one: the advantage goes away with time"
        return _undecided(compared, f"{claim} ({ends}), but not in the later half of it", winner, known, what, gains)
    sentence = f"Better: {claim} ({ends})."
    return RunVerdict("better", sentence, "candidate", f"candidate {winner}", winner, winner, True, None, "", gains)


def _missing(gain: Gain, low: float) -> str:
    """Say how much more evidence would bring the lower end of the interval to zero, all else equal."""
    times = math.ceil(((gain.shrunk - low) / gain.shrunk) ** 2) if gain.shrunk > 0 else 0
    more = f"about {times} times as much of" if 1 < times <= 100 else "far more of"
    what = "the trace, or more traces" if gain.units == "windows" else "the instances of the split validation"
    return f"{more} {what}"


def _undecided(
    compared: Comparison, why: str, winner: int, known: Name | None, to_add: str, gains: tuple[Gain, ...]
) -> RunVerdict:
    """Recommend the known policy, and export the winner, which may turn out to be better."""
    sentence = f"Undecided: {why}. To decide it, add {to_add}."
    if known is None:
        name = f"candidate {winner}"
        return RunVerdict("undecided", sentence, "candidate", name, winner, winner, True, None, to_add, gains)
    name = _name(compared, known)
    sentence += f" Until then {name} is the safe choice."
    if isinstance(known, int):
        return RunVerdict("undecided", sentence, "start", f"start: {name}", known, winner, False, winner, to_add, gains)
    return RunVerdict("undecided", sentence, "baseline", name, None, winner, False, winner, to_add, gains)


def _no_better(compared: Comparison, winner: int, known: Name, split: SplitName, gains: tuple[Gain, ...]) -> RunVerdict:
    best, own = compared.mean(known, split), compared.mean(winner, split)
    name = _name(compared, known)
    found = f"candidate {winner} {'failed there' if own is None else f'has {own:.4f}'}"
    second = None if winner == known or winner in compared.starts else winner
    if isinstance(known, int):
        baseline = compared.record.best_baseline(split)
        others = [found] if second is not None else []
        others += [f"the best baseline, {baseline.policy}, {baseline.score:.4f}"] if baseline else []
        scores = "; ".join([f"{best:.4f} on {split}", *others])
        sentence = f"No better: nothing better than the policy it began with, {name} ({scores})."
        return RunVerdict("no better", sentence, "start", f"start: {name}", known, known, True, second, "", gains)
    exported = _in_language(compared, known, winner, split)
    same_name = _plain(compared.starts.get(exported, "")) == _plain(name)
    began = " It is a policy that the search began with." if winner in compared.starts else ""
    sentence = f"No better: the best baseline, {name}, has {best:.4f} on {split}; {found}.{began}"
    return RunVerdict("no better", sentence, "baseline", name, None, exported, same_name, second or winner, "", gains)


def _without_winner(compared: Comparison) -> RunVerdict | None:
    split: SplitName = "validation" if compared.scorer.of("validation") else "train"
    best = compared.record.best_baseline(split)
    if best is None:
        return None
    sentence = f"No better: no candidate was scored; the best baseline, {best.policy}, has {best.score:.4f} on {split}."
    return RunVerdict("no better", sentence, "baseline", best.policy, None, None, False, None, "", ())


def _best_known(compared: Comparison, split: SplitName) -> Name | None:
    """Return the best of the baselines and the policies that the search began with; of equals the baseline."""
    baseline, start = compared.record.best_baseline(split), compared.best_start(split)
    if baseline is None or start is None:
        return baseline.policy if baseline else start
    score = compared.mean(start, split)
    return start if score is not None and score > baseline.score else baseline.policy


def _in_language(compared: Comparison, baseline: str, winner: int, split: SplitName) -> int:
    """Return the candidate to export for a baseline: the policy of its name, else the best of starts and winner."""
    for start, name in compared.starts.items():
        if _plain(name) == _plain(baseline):
            return start
    scores = {c: compared.mean(c, split) for c in (winner, *compared.starts)}
    known = {c: score for c, score in scores.items() if score is not None}
    return max(known, key=lambda c: known[c], default=winner)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def _name(compared: Comparison, known: Name) -> str:
    return known if isinstance(known, str) else compared.starts[known]


def _over(gains: Sequence[Gain], split: SplitName, kind: PolicyKind) -> Gain | None:
    return next((gain for gain in gains if gain.split == split and gain.kind == kind), None)
