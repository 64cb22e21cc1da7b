"""Library construction: measure every candidate on every workload, and take those that add the most."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vulcan import __version__
from vulcan.documents.library import Matrix, Origin, Scores, TrainedInstance
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Instance, load_evaluator
from vulcan.portfolio.candidates import distinct, of_file, of_run
from vulcan.portfolio.library_file import write_library
from vulcan.portfolio.model import Library, LibraryMember, add_most
from vulcan.portfolio.workloads import find_training, identify, instances_of_member, workload_setting_of
from vulcan.registry import recorded_task
from vulcan.scoring import Job, LocalExecutor, Setup
from vulcan.scoring.remembering_executor import RememberingExecutor
from vulcan.searches.evidence import find_objective, measure_baselines
from vulcan.searches.scorer import Scorer
from vulcan.task import Json, Metrics, Task
from vulcan.terminal_text import count

MEASURED = "measured.jsonl"
"""The cached measurements, in the library's directory. Safe to delete after the build."""

MAX_MEMBERS = 20
PER_RUN = 3
LIMIT_S = 600.0


@dataclass(frozen=True)
class BuildConfig:
    """The configuration of a library build.

    `workloads` are as `find_workloads` returns them; `policies` are texts as `FILE@key=value`, with their sources. The
    task's own policies are candidates too. Those named in `keep` become members in any case. `limit` is in seconds, for
    all instances of a candidate.
    """

    task: str
    settings: Mapping[str, Json]
    workloads: tuple[str, ...]
    objectives: tuple[str, ...]
    policies: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    max_members: int = MAX_MEMBERS
    per_run: int = PER_RUN
    limit: float = LIMIT_S
    workers: int = 1

    def __post_init__(self) -> None:
        for name, value in (("--members", self.max_members), ("--per-run", self.per_run)):
            if value < 1:
                raise UserError(f"{name} is {value}: it must be at least 1")


def build_library(config: BuildConfig, directory: Path, report: Callable[[str], None]) -> Library:
    """Build a library in a directory. Raises UserError.

    `report` receives progress messages. An interrupted build measures nothing twice when it is run again, and the same
    configuration gives the same library.
    """
    return write_library(_Build(config, directory, report).library(), directory)


@dataclass
class _Build:
    config: BuildConfig
    directory: Path
    report: Callable[[str], None]
    _instances: dict[str, tuple[Instance, ...]] = field(default_factory=dict)

    def library(self) -> Library:
        config, task = self.config, recorded_task(self.config.task)
        workload_setting = workload_setting_of(task, load_evaluator(task))
        self.settings = {name: value for name, value in config.settings.items() if name != workload_setting}
        training = find_training(config.task, self.settings, config.workloads)
        self.names = list(training)
        identities = {text: identify(text) for text in config.workloads}
        candidates = self.candidates(task, workload_setting)
        self.report(
            f"{count(len(candidates), 'candidate')} on {count(len(training), 'instance')} of "
            f"{count(len(config.workloads), 'workload')}"
        )
        measured = measure_members(
            candidates, self.instances_of, self.directory / MEASURED, workers=config.workers,
            limit=config.limit, report=self.report,
        )  # fmt: skip
        if not measured:
            raise UserError("every candidate failed on a training instance: there is nothing to build a library of")
        instances = [instance for _, instance in training.values()]
        reference = ReferenceScores.of(task, instances, lambda name: self.report(f"baseline {name}"))
        scores = {objective: reference.scores(objective, measured) for objective in config.objectives}
        for name in config.keep:
            if name not in measured:
                raise UserError(f"keep: no candidate {name!r}{did_you_mean(name, list(measured))}")
        chosen = add_most(list(scores.values()), config.max_members, config.keep)
        by_name = {member.name: member for member in candidates}
        return Library(
            task=config.task,
            settings=self.settings,
            objectives=config.objectives,
            workloads=tuple(identities[text] for text in config.workloads),
            instances=tuple(TrainedInstance(name, identities[of].name) for name, (of, _) in training.items()),
            members=tuple(by_name[name] for name in chosen),
            matrix={
                o: Matrix(
                    _only(scores[o], chosen),
                    reference.known(o, "baseline"),
                    reference.known(o, "oracle"),
                    _only(scores[o], [name for name in scores[o] if name not in chosen]),
                )
                for o in config.objectives
            },
            version=__version__,
        )

    def candidates(self, task: Task, workload_setting: str) -> list[LibraryMember]:
        """Return all candidates: given ones first, as the first of equal policies is taken."""
        config = self.config
        found = [of_file(text, source, config.task) for text, source in config.policies]
        # list-valued settings determine the instances
        own = {workload_setting, *(name for name, value in self.settings.items() if isinstance(value, list))}
        for run in config.runs:
            found += of_run(Path(run), own, self.settings, config.per_run)
        of_task = Origin("the task's author", "seed")
        found += [
            LibraryMember(name, source, config.task, {}, of_task)
            for name, source in task.seed_policies().items()
            if source not in {member.source for member in found}
        ]
        return distinct(found)

    def instances_of(self, member: LibraryMember) -> tuple[Instance, ...]:
        """Return the training instances under the member's own task and settings."""
        key = json.dumps([member.task, dict(member.settings)], sort_keys=True)
        if key not in self._instances:
            self._instances[key] = instances_of_member(member, self.settings, self.config.workloads, self.names)
        return self._instances[key]


def _only(scores: Scores, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    return {name: scores[name] for name in names}


log = logging.getLogger(__name__)


InstancesOf = Callable[[LibraryMember], tuple[Instance, ...]]


def measure_members(
    members: Sequence[LibraryMember],
    instances_of: InstancesOf,
    measured: Path,
    *,
    workers: int,
    limit: float,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Metrics]]:
    """Return the metrics of each member on each instance, without members that fail on one (these are logged).

    Instances depend on the member's task and settings. What is in the file `measured` is not measured again. `limit` is
    the time limit in seconds per member, for all instances.
    """
    found: dict[str, list[Metrics]] = {}
    groups: dict[str, list[LibraryMember]] = {}
    for member in members:
        instances = [[i.name, dict(i.parameters)] for i in instances_of(member)]
        groups.setdefault(json.dumps([member.task, instances], sort_keys=True), []).append(member)
    for group in groups.values():
        task, alike = group[0].task, instances_of(group[0])
        report(f"{count(len(group), 'policy', 'policies')} on {count(len(alike), 'instance')}")
        children = LocalExecutor(Setup(task=task, instances=alike), workers, deferred=True)
        with RememberingExecutor(children, measured, task) as executor:
            jobs = [executor.submit(Job(n, member.source, alike, limit)) for n, member in enumerate(group)]
            for member, job in zip(group, jobs, strict=True):
                outcome = job.result()
                if outcome.status == "scored":
                    found[member.name] = [metrics for _, metrics in outcome.metrics]
                else:
                    log.warning("%s cannot be a member: %s: %s", member.name, outcome.status, outcome.message)
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
