"""The base class of simulators whose instances are typed: see `Simulator`."""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from typing_extensions import override

from vulcan.evaluator import BaselineKind, Evaluator, Instance
from vulcan.files import write_cache
from vulcan.findings import EvaluatorFinding
from vulcan.paths import cache_directory, kernels_version
from vulcan.simulator.account import Account
from vulcan.simulator.plan import with_folders
from vulcan.simulator.spec import SpecT, decode, encode
from vulcan.task import Json, Metrics, Split, SplitName

if TYPE_CHECKING:
    from vulcan.anvil import Policy

log = logging.getLogger(__name__)

T = TypeVar("T")


class Result(Protocol):
    """What a run is measured by: `decisions` is a hash of all that the policy decided."""

    @property
    def decisions(self) -> int: ...

    def metrics(self) -> Metrics: ...


WorkloadT = TypeVar("WorkloadT")
ResultT = TypeVar("ResultT", bound=Result)

_MULTIPLIER = 6364136223846793005
"""Of Knuth's linear congruential generator: order matters in a digest of several runs."""


class Case(NamedTuple, Generic[SpecT]):
    """An instance before it is encoded; `path` is that of the file that it is named by."""

    name: str
    split: SplitName
    spec: SpecT
    path: str = ""


class Simulator(Evaluator, Generic[SpecT, WorkloadT, ResultT]):
    """A simulator whose instances are specs, which are frozen dataclasses; `cases`, `load` and `run` are its own.

    From these three it has all that an `Evaluator` must do, baselines cached on disk, and a digest of decisions if
    `probe` gives a short version of an instance. What it may do is a method of `Evaluator` to override; there, `at`
    returns the spec and the workload of an instance, and `like` another instance.
    """

    spec: type[SpecT]
    """The class of the specs."""

    known: Mapping[str, BaselineKind]
    """The baselines that `run` takes by name, in display order."""

    kernels: ClassVar[tuple[str, ...]] = ()
    """Modules with compiled functions, to import before the first run."""

    explaining_kernels: ClassVar[tuple[str, ...]] = ()
    """Those that findings alone need."""

    caches_baselines: ClassVar[bool] = False
    """Whether baselines are cached on disk, until a source file of Vulcan's simulators changes."""

    unmeasured: ClassVar[tuple[str, ...]] = ()
    """Fields of the spec that no result depends on, such as the path of a trace whose digest is another field."""

    least_window: ClassVar[int] = 0
    """The fewest events of a window of the measured range, for specs that have one; 0: there are no windows."""

    def __init__(self) -> None:
        self._memory: dict[tuple[str, object], Any] = {}
        self._probes: tuple[SpecT, ...] | None = None

    @abstractmethod
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[SpecT]]:
        """Return the instances for these settings. Raises UserError for an invalid setting."""

    @abstractmethod
    def load(self, spec: SpecT) -> WorkloadT:
        """Read or generate the workload. Called once for each `source`. Raises UserError."""

    @abstractmethod
    def run(self, who: Policy | str, spec: SpecT, workload: WorkloadT) -> ResultT:
        """Run a policy, or a baseline by its name. Must depend on nothing else, and keep nothing."""

    def source(self, spec: SpecT) -> object:
        """Return what the workload depends on: specs of one source share it."""
        return spec

    def measure(self, who: Policy | str, spec: SpecT, workload: WorkloadT) -> Metrics:
        """Run and measure; for simulators that measure an instance by several runs."""
        return self.run(who, spec, workload).metrics()

    def probe(self, spec: SpecT) -> SpecT | None:
        """Return a version of a training instance that takes a millisecond or so; None where there is none."""
        return None

    def version_of(self, baseline: str) -> Json:
        """Return what the cached results of a baseline depend on beside the simulator's code, such as a policy."""
        return None

    def longer_name(self, case: Case[SpecT], folders: int) -> str:
        """Return the name of a case with so many of the directories that its file is in."""
        return with_folders(case.path, case.name, folders)

    # What the methods above are used with

    def spec_of(self, instance: Instance) -> SpecT:
        return decode(self.spec, instance.parameters)

    def workload_of(self, spec: SpecT) -> WorkloadT:
        return self.once("workload", self.source(spec), lambda: self.load(spec))

    def at(self, instance: Instance) -> tuple[SpecT, WorkloadT]:
        """Return the spec of an instance and its workload."""
        spec = self.spec_of(instance)
        return spec, self.workload_of(spec)

    def like(self, instance: Instance, name: str, split: SplitName = "train", **changes: Any) -> Instance:
        """Return an instance whose spec differs in these fields."""
        return Instance(name, split, encode(replace(self.spec_of(instance), **changes)))

    def swept(self, instance: Instance, name: str) -> Iterator[tuple[str, Instance]]:
        """Yield instances whose field of that name is from an eighth to four times as large, with a label each."""
        for factor in (0.125, 0.25, 0.5, 1.0, 2.0, 4.0):
            size = max(1, round(factor * getattr(self.spec_of(instance), name)))
            yield f"{size:,} ({factor:g} x)", self.like(instance, f"{instance.name} x {factor:g}", **{name: size})

    def measured_range(self, spec: SpecT) -> tuple[int, int]:
        """Return the first measured event and the one after the last: `measure_from` and `measure_to` of most specs."""
        found: Any = spec
        return found.measure_from, found.measure_to

    def best_baseline(self, instance: Instance, quality: Callable[[Metrics], float]) -> str:
        """Return the first of the baselines with the highest quality, oracles aside."""
        names = [name for name, kind in self.known.items() if kind == "baseline"]
        return max(names, key=lambda name: quality(self.evaluate_baseline(name, instance)))

    def once(self, what: str, key: object, compute: Callable[[], T]) -> T:
        """Return the value for a key of a kind, computed at the first call."""
        if (what, key) not in self._memory:
            self._memory[what, key] = compute()
        value: T = self._memory[what, key]
        return value

    # The duties of an evaluator

    @override
    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        cases = tuple(self.cases(settings, split))
        named = zip(self._names(cases), cases, strict=True)
        return tuple(Instance(name, case.split, encode(case.spec)) for name, case in named)

    def _names(self, cases: Sequence[Case[SpecT]]) -> list[str]:
        """Return the cases' names, where those of several files are told apart by as few directories as that takes.

        Names that stay equal are as before.
        """
        folders: Counter[str] = Counter()
        for _ in range(2 + max((case.path.count("/") for case in cases), default=0)):
            names = [self.longer_name(case, folders[case.path]) for case in cases]
            files: dict[tuple[str, str], set[str]] = {}
            for name, case in zip(names, cases, strict=True):
                files.setdefault((case.split, name), set()).add(case.path)
            alike = {path for paths in files.values() if len(paths) > 1 for path in paths}
            if not alike:
                return names
            folders.update(alike)
        return [case.name for case in cases]

    @override
    def prepare(self, instances: Sequence[Instance]) -> None:
        from vulcan.anvil.native.jit import warm_up

        warm_up()
        for kernel in self.kernels:
            importlib.import_module(kernel)
        for instance in instances:
            self.at(instance)
        searched = [i for i in instances if i.split == "train" and not i.block_of] or instances
        probes = [self.probe(self.spec_of(instance)) for instance in searched]
        self._probes = tuple(probe for probe in probes if probe is not None)
        for probe in self._probes:
            self.workload_of(probe)

    @override
    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return windows of equal length; none if they would have fewer than `least_window` events."""
        first, stop = self.measured_range(self.spec_of(instance)) if self.least_window else (0, 0)
        if not self.least_window or stop - first < self.least_window * count:
            return ()
        ends = [first + (stop - first) * n // count for n in range(count + 1)]
        return [
            self.like(instance, f"{instance.name} window {n}", instance.split, measure_from=start, measure_to=end)
            for n, (start, end) in enumerate(pairwise(ends), 1)
        ]

    @override
    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        return self.measure(policy, *self.at(instance))

    @override
    def baselines(self) -> Mapping[str, BaselineKind]:
        return self.known

    @override
    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """Run a baseline, or return its metrics from the cache on disk if `caches_baselines`."""
        if not self.caches_baselines:
            return self.measure(name, *self.at(instance))
        of = {field: value for field, value in instance.parameters.items() if field not in self.unmeasured}
        module, _, _ = type(self).__module__.partition(".")
        key: list[Json] = [type(self).__qualname__, _code_of(module), name, self.version_of(name), of]
        return cached_metrics(key, lambda: self.measure(name, *self.at(instance)))

    @override
    def decisions(self, policy: Policy) -> str | None:
        """Return a digest of the policy's decisions on the probes; None where there are none."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for probe in self._probes:
            made = self.run(policy, probe, self.workload_of(probe)).decisions
            digest = (digest * _MULTIPLIER + made + 1) % 2**64
        return f"{digest:016x}" if self._probes else None

    @override
    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        for kernel in self.explaining_kernels:
            importlib.import_module(kernel)
        for instance in instances:
            self.compare_with(instance)

    def compare_with(self, instance: Instance) -> object:
        """Compute what findings of the instance compare with, such as runs of baselines; remember it by `once`."""
        return None


@cache
def _code_of(package: str) -> str:
    """Return a digest of the source of a package, or of a module that is in none, and of all kernels.

    Vulcan's simulators import from one another: the packages beside it, `vulcan_*`, count as part of it.
    """
    digest = hashlib.sha256(kernels_version().encode())
    top = Path(str(importlib.import_module(package).__file__))
    home = top.parent.parent
    beside = {*home.glob("vulcan_*/**/*.py"), *top.parent.rglob("*.py")} if top.name == "__init__.py" else {top}
    for path in sorted(beside):
        digest.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def cached_metrics(identity: list[Json], measure: Callable[[], Metrics]) -> Metrics:
    """Return the metrics from the cache, calling `measure` once per machine to fill it.

    `identity` is all that the metrics depend on: the evaluator, the baseline with its version, and the instance. An
    unreadable entry is measured again, with a warning.
    """
    text = json.dumps(identity, sort_keys=True)
    path = cache_directory("baselines") / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
    metrics = _read(path)
    if metrics is None:
        metrics = measure()
        write_cache(path, json.dumps(dict(metrics)).encode())
    return metrics


def _read(path: Path) -> Metrics | None:
    try:
        return cast(dict[str, float], json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s cannot be used and is computed again: %s", path, error)
        return None


if TYPE_CHECKING:
    from vulcan.anvil import Policy


class ExplainedSimulator(Simulator[SpecT, WorkloadT, ResultT]):
    """A simulator whose findings are accounts: of the policy, of the best baseline, and of others beside it."""

    @abstractmethod
    def account_of(self, who: Policy | str, name: str, spec: SpecT, workload: WorkloadT) -> Account:
        """Run a policy or a baseline, and return the account of the run under that name."""

    @abstractmethod
    def quality(self, metrics: Metrics) -> float:
        """Return how good a baseline is; findings are beside the best one."""

    def beside(self, instance: Instance) -> Sequence[str]:
        """Return who else findings are beside, such as an oracle; at most one."""
        return ()

    def account(self, who: Policy | str, instance: Instance, name: str = "the policy") -> Account:
        """Return the numbers behind `findings`."""
        return self.account_of(who, who if isinstance(who, str) else name, *self.at(instance))

    @override
    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        return self.account(policy, instance).findings(*self.compare_with(instance))

    @override
    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        return self.account(first, instance, "the first").compare(self.account(second, instance, "the second"))

    @override
    def compare_with(self, instance: Instance) -> Sequence[Account]:
        """Return the account of the best baseline, and of those beside it."""

        def references() -> Sequence[Account]:
            best = self.best_baseline(instance, self.quality)
            return [self.account(who, instance) for who in (best, *self.beside(instance))]

        return self.once("references", self.spec_of(instance), references)
