"""Further held-out measurements at the end of a search: the policies it began with, and blocks of time.

The measurements are stored in a file of the run's directory, so that runs replay event for event; the verdict is
computed from them and from the events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vulcan.evaluator import Evaluator, Instance, SplitName, load_evaluator
from vulcan.scoring import Executor, Job
from vulcan.searches.evidence import SPLITS, held_out_windows, measure_baseline
from vulcan.searches.options import MAX_SECONDS
from vulcan.searches.scorer import Scorer
from vulcan.searches.target import seeds_of
from vulcan.store import RunRecord
from vulcan.store.events import InstanceMetrics
from vulcan.task import Task

FILE = "held-out.json"
"""In a run's directory: these measurements."""

COMPARED = 8
"""Number of finalists that are measured on blocks of time: those with the best scores on validation."""

Name = int | str
"""A policy: the number of a candidate, or the name of a baseline."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Measurements on held-out data.

    `metrics` has the results of the policies that the search began with, `windows` the blocks of time of each instance,
    and `on_windows` the results there.
    """

    metrics: Mapping[tuple[int, SplitName], InstanceMetrics] = field(default_factory=dict)
    windows: Mapping[tuple[SplitName, str], tuple[str, ...]] = field(default_factory=dict)
    on_windows: Mapping[tuple[Name, SplitName], Mapping[str, dict[str, float]]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "metrics": [
                {"candidate": candidate, "split": split, "instances": dict(found)}
                for (candidate, split), found in self.metrics.items()
            ],
            "windows": [
                {"split": split, "instance": instance, "names": list(names)}
                for (split, instance), names in self.windows.items()
            ],
            "on_windows": [
                {"policy": policy, "split": split, "windows": dict(found)}
                for (policy, split), found in self.on_windows.items()
            ],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> HeldOut:
        """Read measurements. Raises KeyError, TypeError or AttributeError for others."""
        return cls(
            {(row["candidate"], row["split"]): tuple(row["instances"].items()) for row in plain["metrics"]},
            {(row["split"], row["instance"]): tuple(row["names"]) for row in plain["windows"]},
            {(row["policy"], row["split"]): row["windows"] for row in plain["on_windows"]},
        )

    @classmethod
    def read(cls, run: Path, instances: Iterable[Instance]) -> HeldOut:
        """Read the file of a run; empty where there is none, or it is damaged or of other instances than the run."""
        of_split: dict[str, set[str]] = {}
        for instance in instances:
            of_split.setdefault(instance.split, set()).add(instance.name)
        try:
            found = cls.from_json(json.loads((run / FILE).read_text(encoding="utf-8")))
            alike = all({name for name, _ in of} == of_split[split] for (_, split), of in found.metrics.items())
            return found if alike else cls()
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return cls()


def start_names(task: Task, record: RunRecord) -> dict[int, str]:
    """Return the names of the policies that the search began with, by candidate, the best on train first."""
    known = {**seeds_of(task, record.config.get("target")), **record.config.get("starts", {})}
    names = {source: name for name, source in known.items()}
    return {c.candidate: names[c.source] for c in record.ranked() if c.origin == "seed" and c.source in names}


def measure_held_out(
    run: Path, task: Task, record: RunRecord, scorer: Scorer, executor: Executor, limit: float
) -> None:
    """Measure what the verdict needs once the winner is chosen, and store it in the run; nothing is chosen by it."""
    if record.chosen is None or (run / FILE).is_file() or not any(map(scorer.of, SPLITS[1:])):
        return
    text = json.dumps(_Measurement(task, record, scorer, executor, limit).made().to_json())
    unfinished = run / f"{FILE}.part"
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, run / FILE)


@dataclass(frozen=True, slots=True)
class _Measurement:
    task: Task
    record: RunRecord
    scorer: Scorer
    executor: Executor
    limit: float

    def made(self) -> HeldOut:
        starts = [c.candidate for c in self.record.ranked() if c.origin == "seed"]
        metrics = self._measured([(c, split) for c in starts for split in SPLITS[1:]])
        evaluator = load_evaluator(self.task)
        windows = held_out_windows(evaluator, self.scorer.instances)
        on_windows: dict[tuple[Name, SplitName], Mapping[str, dict[str, float]]] = {}
        measured = [split for split in SPLITS[1:] if self.scorer.of(split)]
        for split in measured:
            blocks = {name: found for (where, name), found in windows.items() if where == split}
            if blocks:
                compared = self._compared(
                    split, [c for c in starts if all((c, where) in metrics for where in measured)], metrics
                )
                on_windows |= self._on_windows(compared, split, blocks)
                on_windows |= self._baselines(evaluator, split, [b for found in blocks.values() for b in found])
        return HeldOut(
            metrics,
            {where: tuple(block.name for block in found) for where, found in windows.items()},
            on_windows,
        )

    def _measured(self, wanted: Iterable[tuple[int, SplitName]]) -> dict[tuple[int, SplitName], InstanceMetrics]:
        """Measure candidates on splits, except for what the search has measured; failures are left out."""
        found, running = {}, {}
        for candidate, split in wanted:
            if (known := self.record.confirmed.get((candidate, split))) is not None:
                found[candidate, split] = known.metrics
            elif instances := self.scorer.of(split):
                running[candidate, split] = self._submit(candidate, instances)
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
        winner = self.record.chosen.candidate
        where: SplitName = "validation" if self.scorer.of("validation") else split
        best = sorted(starts, key=lambda c: -self.scorer.mean(where, metrics[c, where]))[:1]
        if split == "test":
            return list(dict.fromkeys([winner, *best]))
        scores = {c: e.score for (c, s), e in self.record.confirmed.items() if s == split and e.score is not None}
        ranked = sorted(scores, key=lambda c: -scores[c])
        return list(dict.fromkeys([winner, *best, *ranked[:COMPARED]]))

    def _on_windows(
        self, candidates: Sequence[int], split: SplitName, blocks: Mapping[str, Sequence[Instance]]
    ) -> dict[tuple[Name, SplitName], Mapping[str, dict[str, float]]]:
        """Measure candidates on the blocks of time of each instance. Failures are left out.

        The last block comes first: an evaluator that remembers its run has measured the earlier ones on the way.
        """
        running = {
            (candidate, name): self._submit(candidate, found[::-1], len(found))
            for candidate in candidates
            for name, found in blocks.items()
        }
        done = {where: dict(future.result().metrics) for where, future in running.items()}
        found: dict[tuple[Name, SplitName], Mapping[str, dict[str, float]]] = {}
        for candidate in candidates:
            of_each = [done[candidate, name] for name in blocks]
            if all(of_each):
                found[candidate, split] = {
                    b.name: m[b.name] for m, of in zip(of_each, blocks.values(), strict=True) for b in of
                }
        return found

    def _baselines(
        self, evaluator: Evaluator, split: SplitName, blocks: Sequence[Instance]
    ) -> dict[tuple[Name, SplitName], Mapping[str, dict[str, float]]]:
        """Measure the best baseline of validation on blocks of time, and those that the objective refers to."""
        known = self.record.best_baseline("validation" if self.scorer.of("validation") else split)
        found: dict[tuple[Name, SplitName], Mapping[str, dict[str, float]]] = {}
        for policy in dict.fromkeys([*([known.policy] if known else []), *self.scorer.objective.references]):
            results = measure_baseline(evaluator, policy, blocks)
            found[policy, split] = {b.name: metrics for b, metrics in zip(blocks, results, strict=True)}
        return found
