"""Libraries on disk: `library.json`, and a file for each member's policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vulcan import __version__
from vulcan.documents.library import Fallback, LibraryDocument, Matrix, MemberDocument
from vulcan.errors import UserError
from vulcan.files import write_file
from vulcan.inputs import read_input
from vulcan.portfolio.model import Library, LibraryMember, SelectionRule
from vulcan.store.decode import MalformedRow, as_declared, parse_fields

FORMAT = 1
FILE = "library.json"
POLICIES = "policies"
_MAX = 64 << 20


def read_library(directory: Path) -> Library:
    """Read the library in a directory. Raises UserError where there is none or it is invalid."""
    path = directory / FILE
    if not path.exists():
        raise UserError(f"no library at {directory}: there is no {FILE} (`vulcan library build` makes one)")
    try:
        plain = parse_fields(read_input(path, "library", _MAX, "name a directory that `vulcan library build` wrote"))
    except MalformedRow as error:
        raise UserError(f"the library {path} is {error}; rebuild it with `vulcan library build`") from error
    if not isinstance(plain.get("format"), int):
        raise UserError(f"{path} is no library: it has no number `format`")
    if plain["format"] != FORMAT:
        raise UserError(f"{path} has the format {plain['format']}, and this Vulcan reads {FORMAT}: build it again")
    try:
        library = _library(as_declared(plain, LibraryDocument, "the library"), directory)
    except (MalformedRow, ValueError) as error:
        raise UserError(f"the library {path} makes no sense: {error}") from error
    _check(library, path)
    return library


def write_library(library: Library, directory: Path) -> None:
    """Write a library; an interrupted write leaves no partial `library.json`. Raises UserError where it cannot."""
    for member in library.members:
        write_file(directory / member.file, member.source)
    write_file(directory / FILE, json.dumps(to_json(library), indent=1, allow_nan=False) + "\n")
    kept = {Path(member.file).name for member in library.members}
    try:
        for stale in (directory / POLICIES).glob("*.py"):
            if stale.name not in kept:
                stale.unlink()
    except OSError as error:
        raise UserError(f"cannot write the library {directory}: {error.strerror}") from error


def to_json(library: Library) -> LibraryDocument:
    """Return the library as JSON; members' sources are in files of their own."""
    rule = library.rule
    plain: LibraryDocument = {
        "format": FORMAT,
        "version": library.version or __version__,
        "task": library.task,
        "settings": library.settings,
        "objectives": library.objectives,
        "seed": library.seed,
        "prefix": library.first,
        "fingerprint": {"names": library.names, "centre": library.centre, "scale": library.scale},
        "clustering": library.clustering,
        "workloads": library.workloads,
        "instances": library.instances,
        "members": tuple(
            {
                "name": member.name,
                "policy": member.file,
                "task": member.task,
                "settings": member.settings,
                "provenance": member.provenance,
                "earned": member.earned,
            }
            for member in library.members
        ),
        "fallback": library.fallbacks,
        "confidence": {"reach": rule.reach, "least": rule.least},
        "rule": {"method": rule.method, "neighbours": rule.nearest, "left_out": rule.left_out},
        "margin": library.margin,
        "notes": library.notes,
        "matrix": library.matrix,
    }
    found: LibraryDocument = json.loads(json.dumps(plain, default=asdict, allow_nan=False))
    return found


def _library(plain: LibraryDocument, directory: Path) -> Library:
    fingerprint, rule, confidence = plain["fingerprint"], plain["rule"], plain["confidence"]
    return Library(
        task=plain["task"],
        settings=plain["settings"],
        objectives=plain["objectives"],
        seed=plain["seed"],
        first=plain["prefix"],
        names=fingerprint["names"],
        centre=fingerprint["centre"],
        scale=fingerprint["scale"],
        clustering=plain["clustering"],
        workloads=plain["workloads"],
        instances=plain["instances"],
        members=tuple(_member(member, directory) for member in plain["members"]),
        fallbacks=plain["fallback"],
        rule=SelectionRule(
            rule["method"], rule["neighbours"], confidence["reach"], confidence["least"], rule["left_out"]
        ),
        margin=plain["margin"],
        matrix=plain["matrix"],
        version=plain["version"],
        notes=plain["notes"],
    )


def _member(plain: MemberDocument, directory: Path) -> LibraryMember:
    name = plain["name"]
    if not name.isidentifier():
        raise ValueError(f"the member's name {name!r} is no identifier")
    path = directory / POLICIES / f"{name}.py"
    if plain["policy"] != f"{POLICIES}/{name}.py":
        raise ValueError(f"the policy of {name} must be {POLICIES}/{name}.py, not {plain['policy']!r}")
    try:
        source = read_input(path, "policy", _MAX, "build the library again").decode("utf-8")
    except (UserError, UnicodeDecodeError) as error:
        raise ValueError(f"the policy {path} cannot be read ({error})") from error
    return LibraryMember(name, source, plain["task"], plain["settings"], plain["provenance"], plain["earned"])


def _check(library: Library, path: Path) -> None:
    """Raise UserError where the parts are inconsistent."""
    problem = next(_problems(library), None)
    if problem is not None:
        raise UserError(f"the library {path} makes no sense: {problem}")


def _problems(library: Library) -> Any:
    width, count = len(library.names), len(library.instances)
    if not width or len(library.centre) != width or len(library.scale) != width:
        yield f"the fingerprint has {width} names, {len(library.centre)} centres and {len(library.scale)} scales"
    if any(scale <= 0 for scale in library.scale):
        yield "a scale of the fingerprint is not above 0"
    if not count:
        yield "it has no training instance"
    for instance in library.instances:
        if len(instance.fingerprint) != width:
            yield f"the fingerprint of {instance.name} has {len(instance.fingerprint)} numbers, not {width}"
    if library.rule.nearest < 1 or library.rule.reach < 0 or not 0 <= library.rule.least <= 1 or library.first < 1:
        yield "its rule, confidence or prefix is out of range"
    names = [member.name for member in library.members]
    if len(set(names)) != len(names):
        yield "two members share a name"
    for objective in library.objectives:
        matrix, fallback = library.matrix.get(objective), library.fallbacks.get(objective)
        if matrix is None or fallback is None:
            yield f"it has no matrix or no fallback for the objective {objective}"
            return
        yield from _matrix_problems(objective, matrix, fallback, names, count)


def _matrix_problems(objective: str, matrix: Matrix, fallback: Fallback, names: Sequence[str], count: int) -> Any:
    for name in names:
        if name not in matrix.members:
            yield f"the matrix of {objective} lacks the member {name}"
    for name in (fallback.baseline, fallback.policy):
        if name in names:
            yield f"the member {name} is called like a fallback"
    if fallback.baseline not in matrix.baselines or fallback.policy not in matrix.own:
        yield f"the matrix of {objective} lacks the fallback {fallback.baseline} or {fallback.policy}"
    for scores in (matrix.members, matrix.baselines, matrix.oracles, matrix.own, matrix.dropped):
        for name, values in scores.items():
            if len(values) != count:
                yield f"{name} has {len(values)} scores under {objective} for {count} instances"
