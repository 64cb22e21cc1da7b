"""The end of a search: refinement of the best candidates, validation of the finalists, and the final test.

Refinement works without a model: it tunes constants and simplifies programs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Literal

from vulcan.anvil.check import task_of
from vulcan.anvil.parse import parse
from vulcan.anvil.policy import effort
from vulcan.evaluator import Instance, SplitName
from vulcan.scoring import Executor, Job, Outcome
from vulcan.searches.config import SearchConfig
from vulcan.searches.held_out import COMPARED
from vulcan.searches.options import MIN_EVALUATIONS
from vulcan.searches.proposal import Attempt, judged
from vulcan.searches.reply import parse_source
from vulcan.searches.scorer import Scorer
from vulcan.searches.simplify import simplify
from vulcan.searches.tuning import MAX_CONFIRMATIONS, BatchEvaluation, FirstLook, Tuning, tune
from vulcan.store import RunRecord
from vulcan.store.events import CandidateJudged, CandidateRefined, Event, FinalistScored, WinnerChosen
from vulcan.task import Program, Task
from vulcan.terminal_text import count

TOLERANCE = 1e-4
"""Score that a simpler program may lose on any training instance: policies on real traces differ by ten times as much.

What costs nothing in the mean alone may cost half of the lead on other data."""

SAMPLED_TOLERANCE = 1e-3
"""Score that it may lose on any sample to be measured in full: samples are several times as coarse."""

WORTH_READING = 0.97
"""Share of the winner's lead over the best known policy that its simplified form has to hold on validation."""

SIMPLIFY_SHARE = 10
"""Proposals of a long search for each evaluation in simplifying: their best programs are longer."""

TRIES = 3
"""Cuts tried for each evaluation in simplifying: most do harm on the first instance, or on those that are so cheap that
they stand on a rung as they are, and are measured there alone."""

AT_THE_END = 3
"""Factor by which the winner's tuning evaluations exceed those of an earlier best candidate."""

Refinement = Literal["tuned", "simplified"]


@dataclass
class Finalizer:
    """The refinement of candidates within a limited share of the search's cost, and the choice of the winner.

    Each new best candidate is tuned, as long as tuning costs no more than scoring each candidate fully would. Where its
    program takes longer than those of the search's candidates on average, each evaluation counts as so many times more.
    A cheaper rung allows many settings for the price of a few full scores, so that the first best candidates are tuned
    early, where the search can still build on them.

    At the end the best is refined, the finalists are measured on `validation`, and the winner, once, on `test`. `emit`
    takes events, and `announce` is told in a line what begins, as it may take long.
    """

    task: Task
    config: SearchConfig
    record: RunRecord
    scorer: Scorer
    executor: Executor
    emit: Callable[..., None]
    announce: Callable[[str], None]
    _efforts: dict[int, float] = field(default_factory=dict)
    _weighed: int = 0
    _sound: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._full = self.scorer.of("train")
        self._rung = self.record.rungs[-1] if self.record.rungs else None

    def after_new_best(self, completed: int) -> list[Event]:
        """Tune the best candidate, unless it was tuned before or the search is not far enough on to afford it."""
        cheap = self._rung.cost if self._rung and self._rung.keep < 1 else None
        next_one = self.config.tune * cheap + MAX_CONFIRMATIONS if cheap else self.config.tune
        if not self.config.tune or next_one > completed or (best := self._best("tuned")) is None:
            return []
        spent = math.fsum(
            self._weight(r.candidate) * (r.evaluations if r.cost is None else r.cost)
            for r in self.record.refined
            if r.by == "tuned"
        )
        is_affordable = spent + self._weight(best.candidate) * next_one <= completed
        return self._tuned(self.config.tune) if is_affordable else []

    def at_the_end(self) -> list[Event]:
        """Tune the best candidate with more evaluations, but at no more cost than the search's proposals had."""
        best = self._best("tuned")
        return self._tuned(self._at_most(AT_THE_END * self.config.tune, best)) if best else []

    def _at_most(self, evaluations: int, of: CandidateJudged) -> int:
        """Return how many evaluations of a candidate to spend: their cost is at most that of the search's proposals.

        What a best candidate costs is not known before: some take a hundred times as long as others, and a search of
        a few proposals would wait for its end longer than for all of them.
        """
        return int(min(evaluations, self._proposals) / self._weight(of.candidate))

    def _weight(self, candidate: int) -> float:
        """Return how many times as long as the mean of those proposed it takes, by its program; at least 1."""
        if isinstance(self.task.signature, Program):
            return 1.0
        for number in range(self._weighed + 1, len(self.record.candidates) + 1):
            one, self._weighed = self.record.candidates[number], number
            if one.operations is not None:
                self._efforts[number] = effort(one.operations, task_of(parse(one.source), self.task))
        proposed = [e for number, e in self._efforts.items() if self.record.candidates[number].origin == "model"]
        return max(1.0, self._efforts[candidate] / fmean(proposed)) if proposed else 1.0

    def _tuned(self, evaluations: int) -> list[Event]:
        best = self._best("tuned")
        if best is None or not evaluations:
            return []
        if evaluations >= MIN_EVALUATIONS:
            self.announce(f"tuning the constants of candidate {best.candidate}, in at most {evaluations} evaluations")
        full = self._on(self._full)
        cheap = self._on(self._rung.instances) if self._rung else None
        done = tune(
            best.source,
            self.task,
            cheap or full,
            confirm=full if cheap else None,
            evaluations=evaluations,
            seed=_seed(self.config.seed, best.candidate),
        )
        looks = [FirstLook(cheap, self._rung.cost, (), TOLERANCE)] if self._rung and cheap else []
        return self._events(best, "tuned", done.best.source if done.best else None, full, looks, done)

    def simplified(self) -> list[Event]:
        """Simplify the best candidate, likewise."""
        best = self._best("simplified")
        return self._simplified(best, lambda path: path[-1]) if best else []

    def _simplified(self, of: CandidateJudged, choose: Callable[[Sequence[str]], str | None]) -> list[Event]:
        """Simplify a candidate; `choose` takes one of the ever smaller programs, if any."""
        if of.score is None or not self.config.simplify or isinstance(self.task.signature, Program):
            return []  # free Python has no known safe cuts
        evaluations = self._at_most(_simplifying(self.config, self._proposals), of)
        self.announce(f"simplifying candidate {of.candidate}, at the cost of {evaluations} full evaluations at most")
        full, looks = self._on(self._full), self._first_looks(of)

        def left() -> float:
            return evaluations - full.count - math.fsum(look.cost for look in looks)

        def screened(sources: Sequence[str]) -> list[float | None]:
            gains = dict.fromkeys(sources[: max(0, int(left() / looks[0].share))], 0.0)
            for look in looks:
                found = zip(gains, look.batch.worst_beside(look.before)(list(gains)), strict=True)
                slack = look.tolerance - TOLERANCE
                gains = {s: gain + slack for s, gain in found if gain is not None and gain >= -look.tolerance}
            return [gains.get(source) for source in sources]

        def measured(sources: Sequence[str]) -> Sequence[float | None]:
            is_affordable = len(sources) <= left()
            return full.worst_beside(of.metrics)(sources) if is_affordable else [None] * len(sources)

        path = simplify(
            of.source,
            self.task,
            0.0,
            measured,
            evaluations=TRIES * evaluations if looks else evaluations,
            tolerance=TOLERANCE,
            screen=screened if looks else None,
        )
        return self._events(of, "simplified", choose(path) if path else None, full, looks)

    def _first_looks(self, of: CandidateJudged) -> list[FirstLook]:
        """Return on what to try cuts of a candidate, one after the other, before all training instances."""
        cheaper = self._rung.instances if self._rung else self._full[:1]
        cost = self._rung.cost if self._rung else 1 / len(self._full)
        if as_they_are := tuple(i for i in self._full if i in cheaper):
            return [FirstLook(self._on(as_they_are), cost, of.metrics, TOLERANCE)] if as_they_are != self._full else []
        looks = []
        for batch in (self._on(part) for part in (cheaper[:1], cheaper[1:]) if part):
            before = batch.outcome(of.source).metrics
            looks.append(FirstLook(batch, cost * len(batch.instances) / len(cheaper), before, SAMPLED_TOLERANCE))
        return looks if all(look.before for look in looks) else []  # empty where it failed

    @property
    def _proposals(self) -> int:
        return sum(p.round > 0 for p in self.record.proposals.values())

    def _best(self, by: Refinement) -> CandidateJudged | None:
        """Return the best candidate, unless it was already refined this way or is the result of it.

        A simplified candidate is not tuned again: simplification comes last, also if it was before an interruption.
        """
        ranked = self.record.ranked()
        done = {c for r in self.record.refined if r.by == by for c in (r.candidate, r.result)}
        done |= {r.result for r in self.record.refined if r.by == "simplified"}
        return ranked[0] if ranked and ranked[0].candidate not in done else None

    def _on(self, instances: tuple[Instance, ...]) -> BatchEvaluation:
        return BatchEvaluation(self.task, instances, self.scorer, self.executor, self.config.limit, sound=self._sound)

    def _events(
        self,
        of: CandidateJudged,
        by: Refinement,
        source: str | None,
        full: BatchEvaluation,
        looks: Sequence[FirstLook],
        tuning: Tuning | None = None,
    ) -> list[Event]:
        made = self._judged(of, by, source, full.outcome(source)) if source is not None else None
        cheaply = sum(look.batch.count for look in looks)
        cost = full.count + math.fsum(look.cost for look in looks) if cheaply and looks[0].share < 1.0 else None
        refined = CandidateRefined(of.candidate, by, full.count + cheaply, made.candidate if made else None, cost)
        if tuning is not None:
            refined = replace(refined, constants=tuning.constants, samples=tuning.samples)
        return [made, refined] if made else [refined]

    def _judged(self, of: CandidateJudged, by: Refinement, source: str, outcome: Outcome) -> CandidateJudged | None:
        reading = parse_source(source, self.task, self.config.target)
        known = reading.policy is None or self.record.candidate_with(reading.policy.fingerprint) is not None
        if known or outcome.status != "scored":
            return None
        made = judged(self.record, Attempt(of.turn, reading, None), len(self.record.candidates) + 1, of.proposal)
        score = self.scorer.mean("train", outcome.metrics)
        scored = replace(made, verdict="scored", score=score, metrics=outcome.metrics)
        return replace(scored, origin=by, derived_from=of.candidate)

    # The end

    def finish(self) -> None:
        """Refine the best candidate, choose the winner, and test it, as far as that was not done before."""
        if self.record.chosen is None and self.record.ranked():
            if not self.record.confirmed:
                self.emit(*self.at_the_end())
                self.emit(*self.simplified())
            self._choose()
        if self.record.chosen is not None and self.scorer.of("test"):
            self._confirm([self.record.chosen.candidate], "test")

    def _choose(self) -> None:
        simplified = [refined for refined in self.record.refined if refined.by == "simplified"]
        later = {refined.result for refined in simplified[1:]}  # the winner's own form, before an interruption
        ranked = [c for c in self.record.ranked() if c.candidate not in later]
        winner = ranked[0]
        split: SplitName = "train"
        if self.scorer.of("validation"):
            noise = noise_of(ranked)
            finalists = find_finalists(ranked, self.scorer, self.config.finalists, noise)
            self.announce(f"measuring {count(len(finalists), 'finalist')} on validation")
            confirmed = self._confirm([c.candidate for c in finalists], "validation")
            scored = [(c, s) for c in finalists if (s := confirmed[c.candidate]) is not None]
            if scored:
                winner, split = best_of(scored, noise), "validation"
                winner = self._in_short(winner, scored, simplified, noise)
        self.emit(WinnerChosen(winner.candidate, split))

    def _in_short(
        self,
        winner: CandidateJudged,
        scored: Sequence[tuple[CandidateJudged, float]],
        simplified: Sequence[CandidateRefined],
        noise: float,
    ) -> CandidateJudged:
        """Simplify the winner as far as it leads by nearly as much on validation, unless it was simplified before.

        What a cut costs on train says little of what it costs elsewhere. One that gains there is no simplification but
        another policy, whose lead would be luck in choosing that no finalist had.
        """
        done = [number for refined in simplified[:1] for number in (refined.candidate, refined.result)]
        if not done or winner.origin == "seed" or winner.candidate in done:
            return winner
        baseline = self.record.best_baseline("validation")
        known = [score for c, score in scored if c.origin == "seed"] + ([baseline.score] if baseline else [])
        score = next(score for c, score in scored if c is winner)
        lead = max(0.0, score - max(known, default=math.inf))
        slack = max(noise, (1 - WORTH_READING) * lead)
        if len(simplified) == 1:
            self.emit(*self._simplified(winner, lambda path: self._smallest(path, score, slack)))
        result = self.record.refined[-1].result
        if result is None:
            return winner
        self._confirm([result], "validation")
        return self.record.candidates[result]

    def _smallest(self, path: Sequence[str], score: float, slack: float) -> str | None:
        """Return the last of the programs that has about this score on validation, by bisection; None without any."""
        validation = self._on(self.scorer.of("validation"))
        low, high, middle = 0, len(path), len(path)
        while low < high:
            (found,) = validation([path[middle - 1]])
            low, high = (middle, high) if found is not None and abs(found - score) <= slack else (low, middle - 1)
            middle = (low + high + 1) // 2
        return path[low - 1] if low else None

    def _confirm(self, candidates: Sequence[int], split: SplitName) -> dict[int, float | None]:
        """Measure the candidates on a split that the search does not see, and return their scores in order."""
        instances, limit = self.scorer.of(split), self.config.limit
        todo = [c for c in candidates if (c, split) not in self.record.confirmed]
        jobs = {c: self.executor.submit(Job(c, self.record.candidates[c].source, instances, limit)) for c in todo}
        for candidate, future in jobs.items():
            outcome = future.result()
            score = self.scorer.mean(split, outcome.metrics) if outcome.status == "scored" else None
            self.emit(FinalistScored(candidate, split, score, outcome.metrics))
        return {c: self.record.confirmed[c, split].score for c in candidates}


def cost_left(config: SearchConfig, record: RunRecord, scorer: Scorer, proposals: int) -> float:
    """Return how much a search does yet behind its last proposal, at most, in scores on all training instances.

    Instances of all splits count as equally large. `proposals` is how many the search will have had.
    """
    if record.held_out is not None or not record.ranked():
        return 0.0
    training = len(scorer.of("train"))
    validation, test = (len(scorer.of(split)) / training for split in ("validation", "test"))
    starts = sum(c.origin == "seed" for c in record.candidates.values())
    finalists = config.finalists - sum(split == "validation" for _, split in record.confirmed)
    # the winner on test; then the starts, and on blocks of time the best on each split
    cost = max(0, finalists) * validation + test + starts * (validation + test) + COMPARED * validation + 2 * test
    if record.confirmed or record.chosen or any(r.by == "simplified" for r in record.refined):
        return cost
    cost += 2 * min(_simplifying(config, proposals), proposals)
    best = record.ranked()[0].candidate
    if any(best in (r.candidate, r.result) for r in record.refined):  # it is not tuned again
        return cost
    return cost + min(AT_THE_END * config.tune, proposals) * (record.rungs[-1].cost if record.rungs else 1.0)


def _simplifying(config: SearchConfig, proposals: int) -> int:
    """Return how many evaluations one simplification may take."""
    return max(config.simplify, proposals // SIMPLIFY_SHARE) if config.simplify else 0


def _seed(seed: int, candidate: int) -> int:
    """Return a seed for the tuner, which takes 32 bits."""
    digest = hashlib.sha256(f"{seed}:tune:{candidate}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


NOISE = 0.01
"""Difference of scores within which two programs count as equal, as a share of the best candidate's lead over the
median one: a scale that every objective has."""


def noise_of(ranked: Sequence[CandidateJudged]) -> float:
    """Return the difference of scores that says nothing, in units of the objective."""
    scores = [c.score for c in ranked if c.score is not None]
    return NOISE * (scores[0] - median(scores)) if scores else 0.0


def find_finalists(ranked: Sequence[CandidateJudged], scorer: Scorer, most: int, noise: float) -> list[CandidateJudged]:
    """Return the best candidates on train that differ, then the policies that the search began with.

    The best are often one policy many times over, with constants that hardly matter. What all of them have in common
    may not carry over to other data, so the finalists differ by what they did on train, and validation chooses.

    Two differ where their scores do on some training instance, or on a cheaper version of them. Of those that do not,
    such as a program and its simplified form, the smallest stands for all. There are at most `most`, and the policies
    to begin with always.
    """
    train = scorer.of("train")
    found: list[tuple[CandidateJudged, dict[str, float]]] = []
    for candidate in ranked:
        scores = zip(train, scorer.on_each(train, candidate.metrics), strict=True)
        behaviour = {**{i.name: score for i, score in scores}, **dict(candidate.rungs)}
        alike = next((n for n, (_, other) in enumerate(found) if _alike(behaviour, other, noise)), None)
        if alike is None:
            if len(found) < most:
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
