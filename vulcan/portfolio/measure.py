"""Measurements of policies on instances, cached during a build."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vulcan.errors import UserError
from vulcan.evaluator import Instance, load_evaluator
from vulcan.files import report_uncached
from vulcan.portfolio.candidates import digest
from vulcan.portfolio.model import LibraryMember
from vulcan.scoring import Job, LocalExecutor, Setup
from vulcan.searches.evidence import find_objective, measure_baselines
from vulcan.searches.scorer import Scorer
from vulcan.task import Metrics, Task
from vulcan.terminal_text import count

log = logging.getLogger(__name__)


@dataclass
class MeasurementCache:
    """A cache of measurements in a JSON-lines file, which lets a build resume; without a file, in memory."""

    file: Path | None = None
    known: dict[str, list[Metrics]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file is None or not self.file.is_file():
            return
        for line in self.file.read_text(encoding="utf-8").splitlines():
            try:
                plain = json.loads(line)
            except ValueError:
                continue  # a line truncated when the build was interrupted
            self.known[plain["key"]] = plain["metrics"]

    def put(self, key: str, metrics: list[Metrics]) -> None:
        self.known[key] = metrics
        if self.file is not None:
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with self.file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "metrics": metrics}) + "\n")
            except OSError as error:
                report_uncached(self.file, error)


InstancesOf = Callable[[LibraryMember], tuple[Instance, ...]]


def measure_members(
    members: Sequence[LibraryMember],
    instances_of: InstancesOf,
    cache: MeasurementCache,
    *,
    workers: int,
    limit: float,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Metrics]]:
    """Return the metrics of each member on each instance, without members that fail on one (these are logged).

    Instances depend on the member's task and settings. `limit` is the time limit in seconds per member, for all
    instances.
    """
    found: dict[str, list[Metrics]] = {}
    waiting: dict[str, list[tuple[LibraryMember, str]]] = {}
    for member in members:
        instances = instances_of(member)
        mark = json.dumps([[i.name, dict(i.parameters)] for i in instances], sort_keys=True)
        key = hashlib.sha256(f"{digest(member)} {mark}".encode("utf-8", "surrogatepass")).hexdigest()
        if (known := cache.known.get(key)) is not None:
            found[member.name] = known
        else:
            waiting.setdefault(json.dumps([member.task, mark]), []).append((member, key))
    for group in waiting.values():
        instances = instances_of(group[0][0])
        report(f"{count(len(group), 'policy', 'policies')} on {count(len(instances), 'instance')}")
        with LocalExecutor(Setup(task=group[0][0].task, instances=instances), workers) as executor:
            jobs = [executor.submit(Job(n, m.source, instances, limit)) for n, (m, _) in enumerate(group)]
            for (member, key), job in zip(group, jobs, strict=True):
                outcome = job.result()
                if outcome.status != "scored":
                    log.warning("%s cannot be a member: %s: %s", member.name, outcome.status, outcome.message)
                    continue
                measured = dict(outcome.metrics)
                found[member.name] = [measured[instance.name] for instance in instances]
                cache.put(key, found[member.name])
    return {member.name: found[member.name] for member in members if member.name in found}


@dataclass(frozen=True)
class ReferenceScores:
    """The known policies on the instances: their kinds and metrics, by name."""

    task: Task
    instances: tuple[Instance, ...]
    kinds: Mapping[str, str]
    metrics: Mapping[str, list[Metrics]]

    @classmethod
    def of(
        cls, task: Task, instances: Sequence[Instance], report: Callable[[str], None] = lambda _: None
    ) -> ReferenceScores:
        evaluator = load_evaluator(task)
        measured = measure_baselines(evaluator, instances, report)
        by_name: dict[str, list[Metrics]] = {
            policy: [results[i.split, i.name] for i in instances] for policy, results in measured.items()
        }
        return cls(task, tuple(instances), dict(evaluator.baselines()), by_name)

    def scores(self, objective: str, measured: Mapping[str, Sequence[Metrics]]) -> dict[str, tuple[float, ...]]:
        """Return each policy's score on each instance. Raises UserError."""
        chosen = find_objective(self.task, objective)
        scorer = Scorer(chosen, self.instances)
        for policy in chosen.references:
            if policy not in self.metrics:
                raise UserError(f"objective {objective!r} compares with {policy!r}, which is no baseline")
            pairs = tuple((i.name, dict(m)) for i, m in zip(self.instances, self.metrics[policy], strict=True))
            scorer.add_reference(policy, "train", pairs)
        return {
            name: tuple(scorer.on_instance("train", i.name, m) for i, m in zip(self.instances, metrics, strict=True))
            for name, metrics in measured.items()
        }

    def known(self, objective: str, kind: str) -> dict[str, tuple[float, ...]]:
        """Return the scores of the known policies of a kind: baselines or bounds."""
        return self.scores(objective, {n: m for n, m in self.metrics.items() if self.kinds[n] == kind})
