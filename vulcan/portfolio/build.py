"""Library construction: fingerprint, cluster, search each cluster, measure every policy, and prune."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from vulcan import __version__
from vulcan.anvil import Rejected, check
from vulcan.documents.library import Fallback, FingerprintedInstance, Matrix, Method, Origin, Scores
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Instance, load_evaluator, rungs_of
from vulcan.files import write_file
from vulcan.portfolio.candidates import distinct, earned, of_file, of_run, prune
from vulcan.portfolio.features import (
    TrainingInstance,
    clusters_of,
    find_training,
    identify,
    instances_of_member,
    measure_fingerprints,
    openings_of_member,
    prefixes_of,
    standard,
    workload_setting_of,
)
from vulcan.portfolio.library_file import write_library
from vulcan.portfolio.measure import MeasurementCache, ReferenceScores, measure_members
from vulcan.portfolio.model import Library, LibraryMember
from vulcan.portfolio.selector import choose_rule
from vulcan.registry import recorded_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.options import ASK
from vulcan.searches.session import ExecutionConfig, RunDisplay, check_config, run_search
from vulcan.store import RunRecord, Store
from vulcan.store.runs import CONTROL, FILE, create_store, lock_run, open_store
from vulcan.task import Json, Metrics
from vulcan.terminal_text import count

Displays = Callable[[str], AbstractContextManager[RunDisplay]]
"""Factory of the display of a search, which it gets the title of."""


def search_cluster(
    path: Path, config: SearchConfig, instances: Sequence[str], machines: ExecutionConfig, displays: Displays
) -> None:
    """Search on the named instances in the directory `path`, or resume an interrupted search there.

    A finished search is not repeated. Raises UserError, ModelRefused or WorkerLost.
    """
    task = recorded_task(config.task)
    evidence = _restrict(check_config(task, config), instances, config)
    with closing(_store(path)) as store:
        record = RunRecord.of(store.events())
        if record.config and SearchConfig.from_json(record.config) != config:
            raise UserError(f"{path} is a search with other options: use another directory")
        if record.instances and (record.instances, record.rungs) != (evidence.instances, evidence.rungs):
            raise UserError(f"{path} cannot be resumed: its workloads or its task have changed")
        if record.stopped is not None and record.stopped.reason == "finished":
            return
        with lock_run(path), displays(path.name) as display:
            run_search(task, config, store, evidence, machines, display, control=lambda: create_store(path, CONTROL))


def _store(path: Path) -> Store:
    """Open the store of the search, created atomically if there is none."""
    if not (path / FILE).is_file():
        unfinished = path.with_name(f"{path.name}.new")
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            create_store(unfinished).close()
            unfinished.rename(path)
        except OSError as error:
            raise UserError(f"cannot write the search {path}: {error.strerror}") from error
    return open_store(path)


def _restrict(evidence: EvaluationSet, names: Sequence[str], config: SearchConfig) -> EvaluationSet:
    """Select the instances of the cluster, as its workloads may have others under the same settings."""
    instances = tuple(i for i in evidence.instances if i.name in names)
    if not evidence.rungs:
        return replace(evidence, instances=instances)
    evaluator = load_evaluator(recorded_task(config.task))
    return EvaluationSet(instances, rungs_of(evaluator, [i for i in instances if i.split == "train"]))


FOLDER = "build"
"""Build directory inside the library's: searches and cached measurements. Safe to delete after the build."""

FIRST = 100_000
MARGIN = 0.002
MAX_MEMBERS = 8
PER_SEARCH = 3


@dataclass(frozen=True)
class BuildConfig:
    """The configuration of a library build.

    `search` has the options of the searches, and the task's settings; `workloads` are as `find_workloads` returns them.
    With `searching` false there are no searches, and `policies` (texts as `FILE@key=value`, with their sources) and
    `runs` are the only candidates. `per_search` is the number of candidates taken from each search. `keep` names
    candidates that become members whatever they gain. `clusters` and `method` are chosen from the data where they are
    None.
    """

    search: SearchConfig
    workloads: tuple[str, ...]
    objectives: tuple[str, ...]
    searching: bool = True
    policies: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()
    clusters: int | None = None
    method: Method | None = None
    first: int = FIRST
    margin: float = MARGIN
    max_members: int = MAX_MEMBERS
    per_search: int = PER_SEARCH
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("prefix", self.first), ("members", self.max_members), ("per-search", self.per_search)):
            if value < 1:
                raise UserError(f"{name} is {value}: at least 1 is needed")
        if self.clusters is not None and self.clusters < 1:
            raise UserError(f"clusters is {self.clusters}: at least 1 is needed, or auto")
        if not 0 <= self.margin < 1:
            raise UserError(f"margin is {self.margin}: it must be from 0 to below 1")
        if self.search.model == (ASK,):
            raise UserError(
                f"a build cannot wait for the replies of the model {ASK!r}: search with `vulcan search --model {ASK}`, "
                "and give the run by --run"
            )
        if not self.searching and not self.policies and not self.runs:
            raise UserError("there is nothing to build from: no search, no --policy and no --run")

    def plan(self) -> dict[str, Any]:
        """Return everything that determines the result of the build."""
        return {
            "version": __version__,
            "search": self.search.to_json(),
            "workloads": [[text, identify(text).sha256] for text in self.workloads],
            "objectives": list(self.objectives),
            "searching": self.searching,
            "policies": [list(policy) for policy in self.policies],
            "runs": list(self.runs),
            "clusters": self.clusters,
            "method": self.method,
            "prefix": self.first,
            "margin": self.margin,
            "members": self.max_members,
            "per_search": self.per_search,
            "keep": list(self.keep),
        }


def build_library(
    config: BuildConfig, path: Path, machines: ExecutionConfig, displays: Displays, report: Callable[[str], None]
) -> Library:
    """Build a library in a directory, or resume an interrupted build there. Raises UserError.

    `report` receives progress messages. The same configuration gives the same library.
    """
    folder = path / FOLDER
    _begin(config, folder, write=False)
    build = _Build(config, folder, machines, report)
    _begin(config, folder, write=True)
    report(
        f"{count(len(build.training), 'instance')} of {count(len(config.workloads), 'workload')}, "
        f"{count(build.clustering.clusters, 'cluster')}"
    )
    for cluster in range(build.clustering.clusters) if config.searching else ():
        for objective in config.objectives:
            build.search(cluster, objective, displays)
    library = build.finish()
    write_library(library, path)
    return library


def _begin(config: BuildConfig, folder: Path, *, write: bool) -> None:
    """Check the stored plan, and write it if `write`. Raises UserError where it is of another build."""
    plan = json.loads(json.dumps(config.plan()))
    file = folder / "plan.json"
    try:
        if file.is_file():
            begun = json.loads(file.read_text(encoding="utf-8"))
            different = sorted(name for name in plan if begun.get(name) != plan[name])
            if different:
                raise UserError(
                    f"{folder.parent} was begun with other options ({', '.join(different)}): give the same, or another "
                    f"directory, or delete {folder}"
                )
        elif write:
            write_file(file, json.dumps(plan, indent=1))
    except ValueError as error:
        raise UserError(f"{file} cannot be read: {error}; delete {folder} to start again") from error
    except OSError as error:
        raise UserError(f"cannot write the library {folder.parent}: {error.strerror}") from error


class _Build:
    """A build with its fingerprints and clusters computed."""

    def __init__(
        self, config: BuildConfig, folder: Path, machines: ExecutionConfig, report: Callable[[str], None]
    ) -> None:
        self.config = config
        self._folder = folder
        self._machines = machines
        self._report = report
        self._task = recorded_task(config.search.task)
        self._evaluator = load_evaluator(self._task)
        self._workload_setting = workload_setting_of(self._task, self._evaluator)
        self._settings = {n: v for n, v in config.search.settings.items() if n != self._workload_setting}
        self.training = find_training(config.search.task, self._settings, config.workloads)
        self._instances = tuple(each.instance for each in self.training)
        self._identities = {text: identify(text) for text in config.workloads}
        report(f"fingerprints of {count(len(self.training), 'instance')}")
        self._firsts = prefixes_of(self._evaluator, self._instances, config.first)
        self._names, self._rows = measure_fingerprints(self._task, self._instances, self._firsts)
        self._centre, self._scale = standard(self._rows)
        points = (self._rows - self._centre) / self._scale
        self._clusters, self.clustering = clusters_of(points, config.clusters, config.search.seed)
        self._others: dict[str, tuple[Instance, ...]] = {}

    def _run(self, cluster: int, objective: str) -> Path:
        return self._folder / "runs" / f"cluster_{cluster}_{objective}"

    def _of_cluster(self, cluster: int) -> list[TrainingInstance]:
        return [f for f, number in zip(self.training, self._clusters, strict=True) if number == cluster]

    def search(self, cluster: int, objective: str, displays: Displays) -> None:
        """Run or resume the search of a cluster, unless it is finished."""
        members = self._of_cluster(cluster)
        workloads: list[Json] = list(dict.fromkeys(each.workload for each in members))
        config = replace(
            self.config.search,
            settings={**self.config.search.settings, self._workload_setting: workloads},
            objective=objective,
        )
        names = [each.instance.name for each in members]
        self._report(f"cluster {cluster}, objective {objective}: {', '.join(names)}")
        search_cluster(self._run(cluster, objective), config, names, self._machines, displays)

    def _candidates(self, used_names: Sequence[str]) -> list[LibraryMember]:
        """Return all candidates: given policies and runs first, as the first of equal policies is chosen."""
        found: list[LibraryMember] = []
        for text, source in self.config.policies:
            found.append(of_file(text, source, self.config.search.task))
        # list-valued settings determine the instances
        own = {self._workload_setting, *(name for name, value in self._settings.items() if isinstance(value, list))}
        for run in self.config.runs:
            found += of_run(Path(run), own, self._settings, self.config.per_search)
        for cluster in range(self.clustering.clusters) if self.config.searching else ():
            workloads = dict.fromkeys(self._identities[f.workload].name for f in self._of_cluster(cluster))
            for objective in self.config.objectives:
                run_of = self._run(cluster, objective)
                found += of_run(run_of, own, self._settings, self.config.per_search, tuple(workloads))
        return distinct(found, used_names)

    def _instances_of(self, member: LibraryMember) -> tuple[Instance, ...]:
        """Return the training instances under the member's own task and settings."""
        key = json.dumps([member.task, dict(member.settings)], sort_keys=True)
        if key not in self._others:
            names = [instance.name for instance in self._instances]
            self._others[key] = instances_of_member(member, self._settings, self.config.workloads, names)
        return self._others[key]

    def _openings_of(self, member: LibraryMember) -> tuple[Instance, ...]:
        return openings_of_member(member, self._instances_of(member), self._firsts)

    def _measured(self, members: Sequence[LibraryMember], *, openings: bool = False) -> dict[str, list[Metrics]]:
        return measure_members(
            members,
            self._openings_of if openings else self._instances_of,
            MeasurementCache(self._folder / "measured.jsonl"),
            workers=self._machines.count,
            limit=self.config.search.limit,
            report=self._report,
        )

    def finish(self) -> Library:
        """Measure every candidate on every instance, and make the library of those that remain after pruning."""
        config = self.config
        own = self._own_policies()
        known = list(load_evaluator(self._task).baselines())
        candidates = self._candidates([*known, *(member.name for member in own)])
        if not candidates:
            raise UserError("no search found a policy: there is nothing to build a library of")
        for name in config.keep:
            if name not in (every := [member.name for member in candidates]):
                raise UserError(f"keep: no candidate {name!r}{did_you_mean(name, every)} (known: {', '.join(every)})")
        reference = ReferenceScores.of(self._task, self._instances, lambda name: self._report(f"baseline {name}"))
        measured = self._measured(candidates)
        own_measured = self._measured(own)
        candidates = [member for member in candidates if member.name in measured]
        if not candidates:
            raise UserError("every candidate failed on a training instance: there is nothing to build a library of")
        scores = {o: reference.scores(o, measured) for o in config.objectives}
        baselines = {o: reference.known(o, "baseline") for o in config.objectives}
        own_scores = {o: reference.scores(o, own_measured) for o in config.objectives}
        fallbacks = {o: Fallback(_best(baselines[o]), _best(own_scores[o])) for o in config.objectives}
        safe = {o: baselines[o][fallbacks[o].baseline] for o in config.objectives}
        names = [i.name for i in self._instances]
        # a member must beat the policy that could be deployed in its place
        instead = {o: own_scores[o][fallbacks[o].policy] for o in config.objectives}
        stay = prune(scores, instead, config.margin, config.max_members, config.keep)
        members = tuple(
            replace(m, earned=earned(m.name, stay, scores, instead, names, config.margin))
            for m in candidates
            if m.name in stay
        )
        instances = tuple(
            FingerprintedInstance(f.instance.name, self._identities[f.workload].name, cluster, tuple(map(float, row)))
            for f, cluster, row in zip(self.training, self._clusters, self._rows, strict=True)
        )
        rule = choose_rule(
            self._names,
            instances,
            {o: {**_only(scores[o], stay), fallbacks[o].baseline: safe[o]} for o in config.objectives},
            self._trials(members, {o: f.baseline for o, f in fallbacks.items()}),
            {o: f.baseline for o, f in fallbacks.items()},
            config.method,
        )
        gone = [m.name for m in candidates if m.name not in stay]
        return Library(
            task=config.search.task,
            settings=self._settings,
            objectives=config.objectives,
            seed=config.search.seed,
            first=config.first,
            names=self._names,
            centre=tuple(map(float, self._centre)),
            scale=tuple(map(float, self._scale)),
            clustering=self.clustering,
            workloads=tuple(self._identities[text] for text in config.workloads),
            instances=instances,
            members=members,
            fallbacks=fallbacks,
            rule=rule,
            margin=config.margin,
            matrix={
                o: Matrix(
                    _only(scores[o], stay),
                    baselines[o],
                    reference.known(o, "oracle"),
                    own_scores[o],
                    _only(scores[o], gone),
                )
                for o in config.objectives
            },
            version=__version__,
        )

    def _own_policies(self) -> list[LibraryMember]:
        """Return the policies shipped with the task that have no state: the fallbacks where baselines cannot run."""
        found, task = [], self._task
        for name, source in task.seed_policies().items():
            try:
                if check(source, task).program.uses_state:
                    continue
            except Rejected as rejected:
                raise UserError(
                    f"task {task.name!r}: its policy {name} is rejected: {rejected.violations[0]}"
                ) from None
            found.append(LibraryMember(name, source, self.config.search.task, {}, Origin("the task's author", "seed")))
        if not found:
            raise UserError(f"task {self._task.name!r} has no policy of its own, which a library falls back to")
        return found

    def _trials(self, members: Sequence[LibraryMember], fallbacks: Mapping[str, str]) -> dict[str, Scores]:
        """Return the scores of members and fallbacks on the openings of the instances, by objective."""
        openings = tuple(map(self._evaluator.opening, self._instances, self._firsts))
        needed = {*fallbacks.values(), *(r for o in fallbacks for r in self._task.objective(o).references)}
        evaluator = load_evaluator(self._task)
        kinds = dict(evaluator.baselines())
        metrics = {name: [evaluator.evaluate_baseline(name, i) for i in openings] for name in kinds if name in needed}
        reference = ReferenceScores(self._task, openings, kinds, metrics)
        measured = self._measured(members, openings=True)
        return {o: reference.scores(o, {**measured, fallbacks[o]: metrics[fallbacks[o]]}) for o in fallbacks}


def _best(scores: Scores) -> str:
    """Return the name with the highest mean score; of equals the first."""
    return max(scores, key=lambda name: fmean(scores[name]))


def _only(scores: Scores, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    return {name: values for name, values in scores.items() if name in names}
