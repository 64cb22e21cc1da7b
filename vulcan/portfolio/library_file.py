"""Libraries on disk: `library.json`, and a file for each member's policy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

from vulcan.documents.library import LibraryDocument, Matrix, MemberDocument
from vulcan.errors import UserError
from vulcan.files import write_file
from vulcan.inputs import read_input
from vulcan.portfolio.model import Library, LibraryMember
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
        document: LibraryDocument = as_declared(plain, LibraryDocument, "the library")
        shared = {f.name: document[f.name] for f in fields(Library)}  # type: ignore[literal-required]
        members = tuple(_member(member, directory) for member in document["members"])
        library = Library(**{**shared, "members": members})
    except (MalformedRow, ValueError) as error:
        raise UserError(f"the library {path} makes no sense: {error}") from error
    if (problem := next(_problems(library), None)) is not None:
        raise UserError(f"the library {path} makes no sense: {problem}")
    return library


def write_library(library: Library, directory: Path) -> Library:
    """Write a library, and return it with its files. Raises UserError where it cannot.

    An interrupted write leaves no partial `library.json`. A member that is a policy of the task whose directory the
    library is in is not written once more.
    """
    library = replace(library, members=tuple(replace(m, file=_file_of(m, directory)) for m in library.members))
    for member in library.members:
        if member.file.startswith(POLICIES):
            write_file(directory / member.file, member.source)
    write_file(directory / FILE, json.dumps(to_json(library), indent=1, allow_nan=False) + "\n")
    kept = {Path(member.file).name for member in library.members if member.file.startswith(POLICIES)}
    try:
        for stale in (directory / POLICIES).glob("*.py"):
            if stale.name not in kept:
                stale.unlink()
    except OSError as error:
        raise UserError(f"cannot write the library {directory}: {error.strerror}") from error
    return library


def _file_of(member: LibraryMember, directory: Path) -> str:
    of_task = directory.parent / POLICIES / f"{member.name}.py"
    if of_task.is_file() and of_task.read_bytes() == member.source.encode():
        return f"../{POLICIES}/{member.name}.py"
    return f"{POLICIES}/{member.name}.py"


def to_json(library: Library) -> LibraryDocument:
    """Return the library as JSON; members' sources are in files of their own."""
    members = [
        {
            "name": member.name,
            "policy": member.file,
            "task": member.task,
            "settings": member.settings,
            "provenance": member.provenance,
        }
        for member in library.members
    ]
    plain = {"format": FORMAT, **{f.name: getattr(library, f.name) for f in fields(library)}, "members": members}
    found: LibraryDocument = json.loads(json.dumps(plain, default=asdict, allow_nan=False))
    return found


def _member(plain: MemberDocument, directory: Path) -> LibraryMember:
    name, file = plain["name"], plain["policy"]
    if not name.isidentifier():
        raise ValueError(f"the member's name {name!r} is no identifier")
    if file not in (allowed := (f"{POLICIES}/{name}.py", f"../{POLICIES}/{name}.py")):
        raise ValueError(f"the policy of {name} must be {' or '.join(allowed)}, not {file!r}")
    try:
        source = read_input(directory / file, "policy", _MAX, "build the library again").decode("utf-8")
    except (UserError, UnicodeDecodeError) as error:
        raise ValueError(f"the policy {directory / file} cannot be read ({error})") from error
    return LibraryMember(name, source, plain["task"], plain["settings"], plain["provenance"], file)


def _problems(library: Library) -> Iterator[str]:
    count = len(library.instances)
    if not count:
        yield "it has no training instance"
    names = [member.name for member in library.members]
    if not names or len(set(names)) != len(names):
        yield "it has no member, or two that share a name"
    for objective in library.objectives:
        matrix = library.matrix.get(objective)
        if matrix is None:
            yield f"it has no matrix for the objective {objective}"
            return
        yield from _matrix_problems(objective, matrix, names, count)


def _matrix_problems(objective: str, matrix: Matrix, names: Sequence[str], count: int) -> Iterator[str]:
    for name in names:
        if name not in matrix.members:
            yield f"the matrix of {objective} lacks the member {name}"
    for scores in (matrix.members, matrix.baselines, matrix.oracles, matrix.dropped):
        for name, values in scores.items():
            if len(values) != count:
                yield f"{name} has {len(values)} scores under {objective} for {count} instances"
