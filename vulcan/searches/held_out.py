"""Further held-out measurements at the end of a search: the policies it began with, and blocks of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vulcan.evaluator import Evaluator, Instance, SplitName, load_evaluator
from vulcan.scoring import Executor, Job
from vulcan.searches.config import SearchConfig
from vulcan.searches.evidence import SPLITS, measure_baseline, verdict_windows
from vulcan.searches.options import MAX_SECONDS
from vulcan.searches.scorer import Scorer
from vulcan.searches.target import starts_of
from vulcan.store import RunRecord
from vulcan.store.events import HeldOutMeasured, InstanceMetrics
from vulcan.task import Task

COMPARED = 8
"""Number of finalists that are measured on blocks of time: those with the best scores on validation."""

Name = int | str
"""A policy: the number of a candidate, or the name of a baseline."""


def start_names(task: Task, record: RunRecord) -> dict[int, str]:
    """Return the names of the policies that the search began with, by candidate, the best on train first."""
    names = {source: name for name, source in starts_of(task, SearchConfig.from_json(record.config)).items()}
    return {c.candidate: names[c.source] for c in record.ranked() if c.origin == "seed" and c.source in names}


def measure_held_out(
    task: Task, record: RunRecord, scorer: Scorer, executor: Executor, limit: float
) -> Iterator[HeldOutMeasured]:
    """Measure what the verdict needs once the winner is chosen; nothing where no data is held out."""
    if any(map(scorer.of, SPLITS[1:])):
        yield _Measurement(task, record, scorer, executor, limit).made()


_OnWindows = dict[tuple[Name, SplitName], dict[str, dict[str, float]]]


@dataclass(frozen=True, slots=True)
class _Measurement:
    task: Task
    record: RunRecord
    scorer: Scorer
    executor: Executor
    limit: float

    def made(self) -> HeldOutMeasured:
        starts = [c.candidate for c in self.record.ranked() if c.origin == "seed"]
        splits = [split for split in SPLITS[1:] if self.scorer.of(split)]
        metrics = self._measured([(c, split) for c in starts for split in splits])
        evaluator = load_evaluator(self.task)
        windows = verdict_windows(evaluator, self.scorer.instances)
        on_windows: _OnWindows = {}
        for split in SPLITS:
            if blocks := [found for (where, _), found in windows.items() if where == split]:
                sound = [c for c in starts if all((c, where) in metrics for where in splits)]
                on_windows |= self._on_windows(self._compared(split, sound, metrics), split, blocks)
                on_windows |= self._baselines(evaluator, split, [b for found in blocks for b in found])
        return HeldOutMeasured(
            tuple((*where, found) for where, found in metrics.items()),
            tuple((*where, tuple(block.name for block in found)) for where, found in windows.items()),
            tuple((*where, tuple(found.items())) for where, found in on_windows.items()),
        )

    def _measured(self, wanted: Iterable[tuple[int, SplitName]]) -> dict[tuple[int, SplitName], InstanceMetrics]:
        """Measure candidates on splits, except for what the search has measured; failures are left out."""
        found, running = {}, {}
        for candidate, split in wanted:
            if (known := self.record.confirmed.get((candidate, split))) is not None:
                found[candidate, split] = known.metrics
            else:
                running[candidate, split] = self._submit(candidate, self.scorer.of(split))
        found |= {where: future.result().metrics for where, future in running.items()}
        return {where: metrics for where, metrics in found.items() if metrics}

    def _submit(self, candidate: int, instances: Sequence[Instance], times: int = 1) -> Any:
        source = self.record.candidates[candidate].source
        return self.executor.submit(Job(candidate, source, tuple(instances), min(times * self.limit, MAX_SECONDS)))

    def _compared(
        self, split: SplitName, starts: Sequence[int], metrics: Mapping[tuple[int, SplitName], InstanceMetrics]
    ) -> list[int]:
        """Return the winner, its closest rivals on validation, and the best of the policies it began with there."""
        assert self.record.chosen is not None
        where: SplitName = "validation" if self.scorer.of("validation") else split
        best = sorted(starts, key=lambda c: -self.scorer.mean(where, metrics[c, where]))[:1]
        scores = {c: e.score for (c, s), e in self.record.confirmed.items() if s == split and e.score is not None}
        rivals = [] if split == "test" else sorted(scores, key=lambda c: -scores[c])[:COMPARED]
        return list(dict.fromkeys([self.record.chosen.candidate, *best, *rivals]))

    def _on_windows(
        self, candidates: Sequence[int], split: SplitName, blocks: Sequence[Sequence[Instance]]
    ) -> _OnWindows:
        """Measure candidates on the blocks of time of each instance. Failures are left out.

        The last block comes first: an evaluator that remembers its run has measured the earlier ones on the way.
        """
        running = {c: [self._submit(c, found[::-1], len(found)) for found in blocks] for c in candidates}
        done = {c: [dict(future.result().metrics) for future in futures] for c, futures in running.items()}
        return {
            (c, split): {b.name: m[b.name] for m, found in zip(of_each, blocks, strict=True) for b in found}
            for c, of_each in done.items()
            if all(of_each)
        }

    def _baselines(self, evaluator: Evaluator, split: SplitName, blocks: Sequence[Instance]) -> _OnWindows:
        """Measure the best baseline of validation on blocks of time, and those that the objective refers to."""
        known = self.record.best_baseline("validation" if self.scorer.of("validation") else split)
        found: _OnWindows = {}
        for policy in dict.fromkeys([*([known.policy] if known else []), *self.scorer.objective.references]):
            results = measure_baseline(evaluator, policy, blocks)
            found[policy, split] = {b.name: metrics for b, metrics in zip(blocks, results, strict=True)}
        return found
