"""The workloads of a library: its training instances."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vulcan.documents.library import Workload
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.portfolio.model import LibraryMember
from vulcan.registry import recorded_task
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Task


def workload_setting_of(task: Task, evaluator: Evaluator) -> str:
    """Return the setting that names workloads. Raises UserError from an evaluator that has none."""
    setting = evaluator.workload_setting()
    if setting is None:
        raise UserError(f"task {task.name!r}: its evaluator names no setting that has the workloads")
    return setting


def find_training(
    task_name: str, settings: Mapping[str, Json], workloads: Sequence[str]
) -> dict[str, tuple[str, Instance]]:
    """Return each workload, as it was given, with an instance of it under these settings of the task, not split.

    They are by the instance's name. Raises UserError.
    """
    task = recorded_task(task_name)
    evaluator = load_evaluator(task)
    workload_setting = workload_setting_of(task, evaluator)
    whole = replace(task.split, by="none")
    found: dict[str, tuple[str, Instance]] = {}
    for workload in workloads:
        complete = complete_settings(task, {**settings, workload_setting: [workload]})
        for instance in evaluator.instances(complete, whole):
            if instance.name in found:
                raise UserError(
                    f"two instances are called {instance.name!r}: give each workload and each setting once, and files "
                    "names of their own"
                )
            found[instance.name] = workload, replace(instance, split="train")
    return found


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
    if not set(names) <= set(found):
        raise UserError(f"{member.name}: its task or settings have other instances than the library")
    return tuple(found[name][1] for name in names)


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
        files = sorted(p for p in directory.rglob("*") if p.is_file() and "/." not in f"/{p.relative_to(directory)}")
        if not files:
            raise UserError(f"{directory}: there is no file in this directory")
        found += map(str, files)
    if not found:
        raise UserError("name what to learn from: --traces DIR, or a file")
    for text in found:
        if found.count(text) > 1:
            raise UserError(f"{text} is given twice")
    return tuple(found)


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
