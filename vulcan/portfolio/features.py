"""The training data of a library: workloads, instances, their fingerprints and clusters."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vulcan.documents.library import Clustering, ClusteringTrial, Workload
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.portfolio.model import LibraryMember
from vulcan.registry import recorded_task
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Task

MAX_CLUSTERS = 8
MIN_SILHOUETTE = 0.1
"""Minimum silhouette: below it clustering is hardly better than none, and there is one cluster."""

STARTS = 200
"""Random starts of k-means: so many that another seed seldom finds other clusters."""

MAX_ITERATIONS = 300

Labels = npt.NDArray[np.int64]
"""The number of each point's cluster."""


SHARE_SEEN = 5
"""A fingerprint covers at most one in so many events: a workload continues after the events that identify it."""


@dataclass(frozen=True, slots=True)
class TrainingInstance:
    """An instance, not split, and the workload it belongs to, as that was given."""

    workload: str
    instance: Instance


def workload_setting_of(task: Task, evaluator: Evaluator) -> str:
    """Return the setting that names workloads. Raises UserError from an evaluator without fingerprints."""
    setting = evaluator.workload_setting()
    if setting is None:
        raise UserError(f"task {task.name!r}: its evaluator offers no fingerprints, which a library chooses by")
    return setting


def find_training(
    task_name: str, settings: Mapping[str, Json], workloads: Sequence[str]
) -> tuple[TrainingInstance, ...]:
    """Return the instances of each workload under these settings of the task. Raises UserError."""
    task = recorded_task(task_name)
    evaluator = load_evaluator(task)
    workload_setting = workload_setting_of(task, evaluator)
    whole = replace(task.split, by="none")
    found = []
    for workload in workloads:
        complete = complete_settings(task, {**settings, workload_setting: [workload]})
        for instance in evaluator.instances(complete, whole):
            found.append(TrainingInstance(workload, replace(instance, split="train")))
    names = [each.instance.name for each in found]
    for each in found:
        if names.count(each.instance.name) > 1:
            raise UserError(
                f"two instances are called {each.instance.name!r}: give each workload and each setting once, and files "
                "names of their own"
            )
    return tuple(found)


def shared_settings(task_name: str, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return the settings of a library that another task has too."""
    known = {setting.name: setting for setting in recorded_task(task_name).settings}
    return {
        name: value
        for name, value in settings.items()
        if name in known and not (known[name].choices and value not in known[name].choices)
    }


def instances_of_member(
    member: LibraryMember, settings: Mapping[str, Json], workloads: Sequence[str], names: Sequence[str]
) -> tuple[Instance, ...]:
    """Return the named instances under the member's own task and settings. Raises UserError."""
    found = find_training(member.task, {**shared_settings(member.task, settings), **member.settings}, workloads)
    by_name = {each.instance.name: each.instance for each in found}
    if not set(names) <= set(by_name):
        raise UserError(f"{member.name}: its task or settings have other instances than the library")
    return tuple(by_name[name] for name in names)


def openings_of_member(
    member: LibraryMember, instances: Sequence[Instance], firsts: Sequence[int]
) -> tuple[Instance, ...]:
    """Return the openings (so many first events) of these instances, which are the member's own."""
    task = recorded_task(member.task)
    evaluator = load_evaluator(task)
    return tuple(evaluator.opening(instance, first) for instance, first in zip(instances, firsts, strict=True))


def prefixes_of(evaluator: Evaluator, instances: Sequence[Instance], first: int) -> tuple[int, ...]:
    """Return how many events of each instance it is recognised by: `first`, or a fifth of all if that is less."""
    return tuple(min(first, max(1, evaluator.events(instance) // SHARE_SEEN)) for instance in instances)


def measure_fingerprints(
    task: Task, instances: Sequence[Instance], firsts: Sequence[int]
) -> tuple[tuple[str, ...], npt.NDArray[np.float64]]:
    """Return the fingerprint's names, and one row per instance. Raises UserError for an invalid fingerprint."""
    evaluator = load_evaluator(task)
    names: tuple[str, ...] = ()
    rows = []
    for instance, first in zip(instances, firsts, strict=True):
        values = evaluator.fingerprint(instance, first)
        names = names or tuple(values)
        if tuple(values) != names or not all(map(math.isfinite, values.values())):
            raise UserError(f"task {task.name!r}: the fingerprint of {instance.name} has not the same finite numbers")
        rows.append(list(values.values()))
    return names, np.array(rows, np.float64)


def standard(rows: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return each column's mean and standard deviation; 1 for the latter where a column is constant."""
    scale = rows.std(axis=0)
    return rows.mean(axis=0), np.where(scale > 1e-9, scale, 1.0)


def clusters_of(
    points: npt.NDArray[np.float64], fixed_count: int | None, seed: int
) -> tuple[tuple[int, ...], Clustering]:
    """Cluster standardised fingerprints; numbers are in order of first appearance.

    k-means, the best of `STARTS`. The number of clusters is the one from 2 to 8 with the highest mean silhouette
    (Rousseeuw, Journal of Computational and Applied Mathematics 20, 1987); 1 where that is below 0.1, or where there
    are fewer than three distinct fingerprints. `fixed_count` sets it instead. Raises UserError where that exceeds the
    number of distinct fingerprints.
    """
    different = len(np.unique(points, axis=0))
    if fixed_count is not None and fixed_count > different:
        raise UserError(f"{fixed_count} clusters of {different} different fingerprints: at most as many are possible")
    if fixed_count is not None:
        return _numbered(kmeans(points, fixed_count, seed)), Clustering("silhouette", fixed_count)
    tried: list[ClusteringTrial] = []
    best: tuple[float, Labels] = (MIN_SILHOUETTE, np.zeros(len(points), np.int64))
    for count in range(2, min(MAX_CLUSTERS, different - 1) + 1):
        labels = kmeans(points, count, seed)
        silhouette = round(mean_silhouette(points, labels), 6)
        tried.append(ClusteringTrial(count, silhouette))
        if silhouette > best[0]:
            best = (silhouette, labels)
    numbered = _numbered(best[1])
    return numbered, Clustering("silhouette", max(numbered) + 1, tuple(tried))


def kmeans(points: npt.NDArray[np.float64], count: int, seed: int) -> Labels:
    """Return each point's cluster: Lloyd's algorithm from k-means++ centres, the start with the least inertia.

    See Arthur and Vassilvitskii, k-means++, SODA 2007. `count` is at most the number of distinct points.
    """
    random = np.random.default_rng(seed)
    found = [_lloyd(points, _spread_centres(points, count, random)) for _ in range(STARTS)]
    return min(found, key=lambda each: each[0])[1]


def _spread_centres(
    points: npt.NDArray[np.float64], count: int, random: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draw centres by k-means++: of a few points, drawn in proportion to their squared distance, the best one."""
    among = 2 + int(math.log(count))
    chosen = [int(random.integers(len(points)))]
    nearest = _squared_distances(points, points[chosen])[:, 0]
    while len(chosen) < count:
        drawn = random.choice(len(points), among, p=nearest / nearest.sum())
        reduced = np.minimum(nearest[:, None], _squared_distances(points, points[drawn]))
        best = reduced.sum(axis=0).argmin()
        chosen.append(int(drawn[best]))
        nearest = reduced[:, best]
    return points[chosen]


def _lloyd(points: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]) -> tuple[float, Labels]:
    """Return the inertia and the labels after Lloyd's iterations; a cluster that loses its points gets the farthest."""
    labels: Labels = np.full(len(points), -1)
    for _ in range(MAX_ITERATIONS):
        distances = _squared_distances(points, centres)
        before, labels = labels, distances.argmin(axis=1)
        nearest = distances.min(axis=1)
        for empty in set(range(len(centres))) - set(labels.tolist()):
            labels[nearest.argmax()] = empty
            nearest[nearest.argmax()] = 0
        if np.array_equal(before, labels):
            break
        centres = np.array([points[labels == number].mean(axis=0) for number in range(len(centres))])
    return float(nearest.sum()), labels


def mean_silhouette(points: npt.NDArray[np.float64], labels: Labels) -> float:
    """Return the mean silhouette of two or more clusters; a point alone in its cluster has 0."""
    distances = np.array([np.sqrt(np.square(points - point).sum(axis=1)) for point in points])
    sizes = np.bincount(labels)
    sums = np.stack([distances[:, labels == number].sum(axis=1) for number in range(len(sizes))], axis=1)
    own = np.arange(len(points)), labels
    within = sums[own] / np.maximum(sizes[labels] - 1, 1)
    others = sums / sizes
    others[own] = np.inf
    between = others.min(axis=1)
    larger = np.maximum(within, between)
    each = np.divide(between - within, larger, out=np.zeros(len(points)), where=(larger > 0) & (sizes[labels] > 1))
    return float(each.mean())


def _squared_distances(points: npt.NDArray[np.float64], centres: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    squared: npt.NDArray[np.float64] = np.square(points[:, None, :] - centres[None, :, :]).sum(axis=2)
    return squared


def _numbered(labels: Labels) -> tuple[int, ...]:
    order = {label: number for number, label in enumerate(dict.fromkeys(int(label) for label in labels))}
    return tuple(order[int(label)] for label in labels)


def find_workloads(given: Sequence[str]) -> tuple[str, ...]:
    """Expand directories to the files below them, sorted by path; anything else is unchanged.

    Hidden files are skipped. Raises UserError for a directory without files, and for duplicates.
    """
    found: list[str] = []
    for text in given:
        directory = Path(text)
        if not directory.is_dir():
            found.append(text)
            continue
        files = sorted(p for p in directory.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(directory)))
        if not files:
            raise UserError(f"{directory}: there is no file in this directory")
        found += map(str, files)
    if not found:
        raise UserError("name what to learn from: --traces DIR, or a file")
    for text in found:
        if found.count(text) > 1:
            raise UserError(f"{text} is given twice")
    return tuple(found)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def identify(text: str) -> Workload:
    """Return the workload's name and the checksum of its file. Raises UserError for an unreadable file."""
    path = Path(text)
    if not path.is_file():
        return Workload(text, None)
    try:
        with path.open("rb") as file:
            return Workload(path.name, hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
