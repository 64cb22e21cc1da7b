"""Candidates for membership in a library, from files and from runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from vulcan.anvil import Rejected, check
from vulcan.anvil.rewrite.traversal import numbered
from vulcan.documents.library import Origin
from vulcan.errors import UserError
from vulcan.portfolio.model import LibraryMember
from vulcan.registry import find_task, recorded_task, task_reference
from vulcan.searches.config import sort_options
from vulcan.store import RunRecord
from vulcan.store.runs import open_store
from vulcan.task import Json, Task


def policy_spec(text: str) -> tuple[Path, dict[str, str]]:
    """Parse a policy as `FILE@key=value,...`: its file, and the settings that it runs under (`task` is allowed too).

    Raises UserError for a setting that is not of the form key=value.
    """
    file, _, rest = text.partition("@")
    options: dict[str, str] = {}
    for part in rest.split(",") if "@" in text else []:
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UserError(f"--policy {text}: {part!r} is not of the form key=value")
        options[key.strip().replace("-", "_")] = value.strip()
    return Path(file), options


def of_file(text: str, source: str, task_name: str) -> LibraryMember:
    """Return the policy of a file whose source was read already. Raises UserError where it is rejected."""
    path, options = policy_spec(text)
    task_name = options.pop("task", task_name)
    task = find_task(task_name)
    settings = read_settings(task, options, f"--policy {text}")
    return _checked(path.stem, source, task, task_name, settings, Origin("file", "file"), f"the policy {path}")


def read_settings(task: Task, options: Mapping[str, str], where: str) -> dict[str, Json]:
    """Parse settings of a task that are given as text. Raises UserError."""
    typed: dict[str, Json] = {}
    kinds = {setting.name: setting.type for setting in task.settings}
    flags = {"true": True, "false": False}
    parsers: dict[str, Callable[[str], Json]] = {"int": int, "float": float, "flag": flags.__getitem__}
    for name, value in options.items():
        try:
            typed[name] = parsers.get(kinds.get(name, "text"), str)(value)
        except (ValueError, KeyError):
            raise UserError(f"{where}: {name} is {value!r}, which is no {kinds[name]}") from None
    searched, settings = sort_options(task, typed, where)
    if searched:
        raise UserError(f"{where}: {next(iter(searched))} is an option of searches, and not of the task {task.name}")
    return settings


def of_run(path: Path, left_out: Collection[str], against: Mapping[str, Json], best: int = 1) -> list[LibraryMember]:
    """Return the winner of a run and its runners-up, `best` policies at most.

    Each carries the settings of its run that differ from `against`, the library's own, except those in `left_out` (the
    workloads, for example). Raises UserError for a run without a scored candidate.
    """
    with closing(open_store(path)) as store:
        record = RunRecord.of(store.events())
        if (first := record.best()) is None:
            raise UserError(f"{path} has no scored candidate: there is nothing to take from it")
        chosen = [first, *(judged for judged in record.ranked() if judged.candidate != first.candidate)][:best]
        calls = [store.call(judged.proposal, judged.turn) for judged in chosen]
    task_name = str(record.config["task"])
    task = recorded_task(task_name)
    defaults = {setting.name: setting.default for setting in task.settings}
    settings = {
        name: value
        for name, value in record.config["settings"].items()
        if name not in left_out and value != against.get(name, defaults.get(name))
    }
    searched_on = tuple(dict.fromkeys(i.name for i in record.instances))
    members = []
    for judged, call in zip(chosen, calls, strict=True):
        origin = Origin(
            call.model if call else "the task's author",
            judged.origin,
            searched_on,
            record.config.get("seed"),
            path.name,
            judged.candidate,
            record.config,
        )
        name = f"{path.name}_{judged.candidate}"
        where = f"candidate {judged.candidate} of {path}"
        members.append(_checked(name, judged.source, task, task_name, settings, origin, where))
    return members


def _checked(
    name: str, source: str, task: Task, task_name: str, settings: dict[str, Json], origin: Origin, where: str
) -> LibraryMember:
    try:
        check(source, task)
    except Rejected as rejected:
        raise UserError(f"{where} is rejected: {rejected.violations[0]}") from None
    return LibraryMember(identifier(name), source, task_reference(task_name), settings, origin)


def identifier(text: str) -> str:
    """Turn a text into a name that is valid for a file and a function."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "policy"
    return f"p_{name}" if name[0].isdigit() else name


def distinct(members: Sequence[LibraryMember]) -> list[LibraryMember]:
    """Remove duplicate policies, and give each a unique name."""
    seen: set[str] = set()
    names: set[str] = set()
    found: list[LibraryMember] = []
    for member in members:
        if (mark := digest(member)) in seen:
            continue
        seen.add(mark)
        name = numbered(member.name, names)
        names.add(name)
        found.append(replace(member, name=name))
    return found


def digest(member: LibraryMember) -> str:
    """Return a hash of a policy and its settings."""
    text = json.dumps([member.source, member.task, dict(member.settings)], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
