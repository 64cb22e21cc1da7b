"""The verdict on a search: whether what it found is better than the best that was known before.

It is computed from stored scores, on validation and train; the split test has no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean, median
from typing import Literal, TypeVar

from vulcan.documents.run import Conclusion, Gain
from vulcan.evaluator import Instance, SplitName
from vulcan.searches.evidence import MIN_INSTANCES, SPLITS, by_workload, workloads
from vulcan.searches.held_out import Name
from vulcan.searches.scorer import Scorer
from vulcan.searches.target import plain_name
from vulcan.store import RunRecord
from vulcan.store.events import HeldOutMeasured, InstanceMetrics

Found = TypeVar("Found")
PolicyKind = Literal["candidate", "start", "baseline"]

QUARTERS = 4
"""Parts of train's time in each of which a winner that is better must not be behind."""

MAX_TIMES = 4
"""A gain that may be chance is undecided if so many times the evidence would decide it; else it is too small."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The conclusion, in a sentence too, and the recommended policy.

    `candidate` is its number where it is one of the run's: of a baseline, that of the policy of its name that the
    search began with. `second` is the winner where it is not recommended, and `to_add` the evidence that is missing.
    """

    conclusion: Conclusion
    sentence: str
    kind: PolicyKind
    policy: str
    candidate: int | None
    second: int | None
    to_add: str
    gains: tuple[Gain, ...]

    @property
    def doubt(self) -> str:
        """What speaks against the gain where the verdict is made, in a few words; empty where nothing does."""
        gain = next((gain for gain in self.gains if gain["split"] == "validation"), None)
        if gain is None or self.conclusion == "better":
            return ""
        if gain["shrunk"] <= 0:
            return "no gain on validation"
        if gain["interval"] is None:
            return "too few workloads for an interval"
        if gain["interval"]["low"] <= 0:
            return "interval contains zero"
        return "no gain in the later half" if gain["recent"] <= 0 else "a loss in a quarter of train"


@dataclass(frozen=True)
class Comparison:
    """Scores of a run's candidates and baselines; `starts` are the names of those that the search began with."""

    record: RunRecord
    scorer: Scorer
    starts: Mapping[int, str]

    @property
    def _held_out(self) -> HeldOutMeasured:
        return self.record.held_out or HeldOutMeasured((), (), ())

    def mean(self, policy: Name, split: SplitName) -> float | None:
        """Return the mean score on a split; None where the policy was not measured there, or failed."""
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
        return _found(self._held_out.metrics, policy, split) or ()

    def in_windows(self, split: SplitName) -> bool:
        """Check whether the split has too few workloads to compare on, and their blocks of time take their place."""
        return split != "train" and workloads(self.scorer.of(split)) < MIN_INSTANCES

    def units(self, policy: Name, split: SplitName) -> list[float] | None:
        """Return the mean score on each workload, or over instances in each block of time; None where unknown."""
        instances = self.scorer.of(split)
        if not self.in_windows(split):
            metrics = self.metrics(policy, split)
            if not metrics:
                return None
            return by_workload(instances, self.scorer.on_each(instances, metrics))
        return self._in_blocks(policy, split, instances)

    def _in_blocks(self, policy: Name, split: SplitName, instances: Iterable[Instance]) -> list[float] | None:
        """Return the mean score over instances in each block of time; None where unknown."""
        measured = dict(_found(self._held_out.on_windows, policy, split) or ())
        blocks = [_found(self._held_out.windows, split, i.name) or () for i in instances]
        if not measured or not all(blocks):
            return None
        scores = [[self._windows.on_instance(split, name, measured[name]) for name in names] for names in blocks]
        return [fmean(at_once) for at_once in zip(*scores, strict=True)]

    def worst_quarter(self, winner: int, over: Name) -> float:
        """Return the least gain in a quarter of train's time; 0 where train was not measured in enough blocks."""
        mine, theirs = (self._in_blocks(policy, "train", self.scorer.asked) for policy in (winner, over))
        if not mine or not theirs or len(mine) < QUARTERS:
            return 0.0
        differences = [a - b for a, b in zip(mine, theirs, strict=True)]
        ends = [len(differences) * n // QUARTERS for n in range(QUARTERS + 1)]
        return min(fmean(differences[a:b]) for a, b in pairwise(ends))

    @cached_property
    def _windows(self) -> Scorer:
        scorer = Scorer(self.scorer.objective, ())
        for policy, split, measured in self._held_out.on_windows:
            if isinstance(policy, str):
                scorer.add_reference(policy, split, measured)
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
            shrunk = [d - bias for d in differences]
            interval = mean_interval(shrunk, within=(-widest, widest), in_time=in_time)
            recent = fmean(differences[len(differences) // 2 :]) if in_time else gain
        return Gain(
            over=self.name_of(over),
            kind="baseline" if isinstance(over, str) else "start",
            split=split,
            gain=gain,
            shrunk=gain - bias,
            interval=interval,
            units="windows" if in_time else "instances",
            count=len(differences),
            recent=recent,
        )

    def name_of(self, policy: Name) -> str:
        return policy if isinstance(policy, str) else self.starts.get(policy, f"candidate {policy}")

    def bias(self, split: SplitName) -> float:
        """Return what choosing the best finalist on a split adds to its score by luck."""
        from vulcan.searches.bootstrap import selection_bias

        finalists = {c: self.units(c, where) for c, where in self.record.confirmed if where == split}
        return selection_bias([scores for scores in finalists.values() if scores])

    def gains(self, winner: int, over: Name) -> Iterator[Gain]:
        """Yield the winner's gain over a policy on each split."""
        for split in SPLITS:
            is_chosen = winner not in self.starts and self.metrics(winner, split) != self.metrics(over, split)
            bias = self.bias(split) if split == "validation" and is_chosen else 0.0
            if winner != over and (gain := self.gain(winner, over, split, bias)) is not None:
                yield gain

    @property
    def deciding(self) -> SplitName:
        """The split that the verdict is about."""
        return "validation" if self.scorer.of("validation") else "train"

    def known(self) -> Iterator[Name]:
        """Yield the policies that were known before the search: the baselines, then those that it began with."""
        for (name, split), measured in self.record.baselines.items():
            if split == self.deciding and measured.kind == "baseline":
                yield name
        yield from self.starts

    @property
    def target(self) -> str | None:
        """The format that the search was for."""
        return self.record.config.get("target")

    def carried(self) -> tuple[Name, ...]:
        """Return the known policies that the target carries, by those that the search began with."""
        begun = {plain_name(name) for name in self.starts.values()}
        known = tuple(self.known())
        carried = (name for name in known if not isinstance(name, str) or plain_name(name) in begun)
        return (tuple(carried) if self.target else ()) or known

    def best(self, among: Iterable[Name]) -> Name | None:
        """Return the known policy that is best where the verdict is made; of equals a baseline."""
        scores = {name: score for name in among if (score := self.mean(name, self.deciding)) is not None}
        return max(scores, key=lambda name: scores[name], default=None)

    def steadiest(self, among: Iterable[Name]) -> Name | None:
        """Return the policy that is best on train and validation together: both are the past of what comes.

        Train counts for at most twice as much, by how far known policies are apart: an outage there would decide alone.
        """
        known = [past for name in self.known() if (past := self._past(name)) is not None]
        apart = [median(max(scores) - score for score in scores) for scores in zip(*known, strict=True)]
        weight = min(1.0, 2 * apart[1] / apart[0]) if apart and min(apart) > 0 else 1.0
        sums = {name: weight * past[0] + past[1] for name in among if (past := self._past(name)) is not None}
        return max(sums, key=lambda name: sums[name], default=None)

    def _past(self, policy: Name) -> tuple[float, float] | None:
        seen, later = self.mean(policy, "train"), self.mean(policy, self.deciding)
        return None if seen is None or later is None else (seen, later)


def _found(rows: Iterable[tuple[Name, str, Found]], first: Name, second: str) -> Found | None:
    """Return what is in the row of a policy, or a split, and what follows it; None where there is no such row."""
    return next((found for *where, found in rows if where == [first, second]), None)


def verdict_of(compared: Comparison) -> RunVerdict | None:
    """Return the verdict on a finished search; None before it has chosen a winner, or ended without one."""
    verdict = _concluded(compared)
    left = compared.record.best_baseline(compared.deciding, "not carried")
    if verdict is None or left is None:
        return verdict
    what = f"{left.policy}, which {compared.target} cannot carry, has {left.score:.4f} on {compared.deciding}"
    return replace(verdict, sentence=f"{verdict.sentence} Not compared: {what}.")


def _concluded(compared: Comparison) -> RunVerdict | None:
    record, split, known = compared.record, compared.deciding, compared.best(compared.known())
    if record.chosen is None:
        if known is None or record.stopped is None or record.stopped.reason != "finished":
            return None
        return _no_better(compared, known, None, "no candidate was scored", ())
    winner = record.chosen.candidate
    if known is None:
        to_add = "a baseline, or a policy to begin with, to compare it with"
        return _undecided(compared, f"candidate {winner} has nothing to be compared with", winner, None, to_add, ())
    gains = tuple(compared.gains(winner, known))
    gain = next((gain for gain in gains if gain["split"] == split), None)
    if winner in compared.starts:
        return _no_better(compared, known, None, "nothing that it found is above what was known", gains)
    if gain is None:
        return _no_better(compared, known, winner, f"candidate {winner} failed there", gains)
    if gain["shrunk"] <= 0:
        why = f"candidate {winner} has {compared.mean(winner, split):.4f}"
        if gain["gain"] > 0:
            why += ", no more than the luck of choosing it among several explains"
        return _no_better(compared, known, winner, why, gains)
    if split == "train":
        to_add = "held-out data: search without `--split none`, or with instances of the split validation"
        why = f"nothing was held out to compare candidate {winner} on"
        return _undecided(compared, why, winner, known, to_add, gains)
    before = sum(gain["gain"] for gain in gains if gain["split"] == "train")
    if before < 0:  # what luck there was in choosing it was on its side there
        why = f"candidate {winner} is {gain['shrunk']:.4f} above it, but {-before:.4f} below it on train"
        return _no_better(compared, known, winner, why, gains)
    return _by_evidence(compared, gain, winner, known, gains)


def _by_evidence(compared: Comparison, gain: Gain, winner: int, known: Name, gains: tuple[Gain, ...]) -> RunVerdict:
    over = gain["over"]
    where = f"the best baseline, {over}," if gain["kind"] == "baseline" else f"{over}, which it began with,"
    claim = f"candidate {winner} is {gain['shrunk']:.4f} above {where} on validation"
    interval = gain["interval"]
    if interval is None:
        longer = "a longer trace, or " if gain["count"] else ""
        what = f"{longer}workloads of the split validation up to {MIN_INSTANCES} or more, for an interval of the gain"
        return _undecided(compared, f"{claim}, on too little evidence", winner, known, what, gains)
    ends = (
        f"less luck in choosing, {interval['confidence']:.0%} interval {interval['low']:.4f} to {interval['high']:.4f}"
    )
    if interval["low"] <= 0:
        times = ((gain["shrunk"] - interval["low"]) / gain["shrunk"]) ** 2
        if times > MAX_TIMES:
            why = f"candidate {winner} is {gain['shrunk']:.4f} above it, too little to tell from chance ({ends})"
            return _no_better(compared, known, winner, why, gains)
        what = "the trace, or more traces" if gain["units"] == "windows" else "the instances of the split validation"
        add = f"about {math.ceil(times)} times as much of {what}"
        return _likelier(compared, f"{claim}, which may be chance ({ends})", winner, known, add, gains)
    if gain["recent"] <= 0:
        what = "a longer trace, or a later one: the advantage goes away with time"
        return _undecided(compared, f"{claim} ({ends}), but not in the later half of it", winner, known, what, gains)
    if (behind := compared.worst_quarter(winner, known)) < 0:
        why = f"{claim} ({ends}), but {-behind:.4f} below it in a quarter of train: the advantage comes and goes"
        return _likelier(compared, why, winner, known, "a longer trace, or a later one", gains)
    return _recommended(compared, "better", f"Better: {claim} ({ends}).", winner, winner, "", gains)


def _undecided(
    compared: Comparison, why: str, winner: int, known: Name | None, to_add: str, gains: tuple[Gain, ...]
) -> RunVerdict:
    """Recommend the known policy until there is more evidence."""
    sentence = f"Undecided: {why}. To decide it, add {to_add}."
    until = compared.best(compared.carried()) or known or winner
    if until != winner:
        which = f", the best known policy that {compared.target} carries," if until != known else ""
        sentence += f" Until then {compared.name_of(until)}{which} is recommended."
    return _recommended(compared, "undecided", sentence, until, winner, to_add, gains)


def _likelier(
    compared: Comparison, why: str, winner: int, known: Name, to_add: str, gains: tuple[Gain, ...]
) -> RunVerdict:
    """Recommend the winner, which gains something more likely than it loses: docs/results/search.md has how often."""
    safe = compared.name_of(compared.best(compared.carried()) or known)
    sentence = f"Undecided: {why}. To decide it, add {to_add}."
    sentence += f" Until then candidate {winner} is recommended as the better bet; {safe} is the safe choice."
    return _recommended(compared, "undecided", sentence, winner, winner, to_add, gains)


def _no_better(compared: Comparison, best: Name, winner: int | None, why: str, gains: tuple[Gain, ...]) -> RunVerdict:
    """Recommend what is best on all that came before, which need not be the best known policy on validation.

    That may be the winner, where it is ahead on validation too, by too little to be sure of.
    """
    split, name = compared.deciding, compared.name_of(best)
    which = f"the best baseline, {name}," if isinstance(best, str) else f"{name}, which it began with,"
    score, oracle = compared.mean(best, split), compared.record.best_baseline(split, "oracle")
    if oracle is not None and oracle.score == score:
        why += "; an oracle has no more: there is nothing to gain on this data"
    sentence = f"No better: {which} has {score:.4f} on {split}; {why}."
    known = compared.steadiest(compared.carried()) or best
    safe = compared.name_of(known)
    ahead = any(gain["split"] == split and gain["gain"] > 0 for gain in gains)
    if winner is not None and ahead and compared.steadiest([known, winner]) == winner:
        sentence += f" Recommended is candidate {winner} all the same, the best on train and {split} together; "
        sentence += f"{safe} is the safe choice."
        return _recommended(compared, "no better", sentence, winner, winner, "", gains)
    if plain_name(safe) != plain_name(name):
        carried = f" that {compared.target} carries" if compared.target else ""
        sentence += f" Recommended is {safe}, the best known policy{carried} on train and {split} together."
    return _recommended(compared, "no better", sentence, known, winner, "", gains)


def _recommended(
    compared: Comparison,
    conclusion: Conclusion,
    sentence: str,
    policy: Name,
    winner: int | None,
    to_add: str,
    gains: tuple[Gain, ...],
) -> RunVerdict:
    name = compared.name_of(policy)
    if policy == winner:
        return RunVerdict(conclusion, sentence, "candidate", name, winner, None, to_add, gains)
    if isinstance(policy, int):
        return RunVerdict(conclusion, sentence, "start", f"start: {name}", policy, winner, to_add, gains)
    own = next((start for start, other in compared.starts.items() if plain_name(other) == plain_name(policy)), None)
    return RunVerdict(conclusion, sentence, "baseline", name, own, winner, to_add, gains)
