"""Catalogue of public traces: a TOML file, described at its head."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from vulcan.errors import UserError, did_you_mean

CATALOGUE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace of the catalogue; what is not known is `null`."""

    name: Annotated[str, "set and trace: `set/trace`"]
    format: Annotated[str, "the format that it is read as"]
    url: Annotated[str | None, "its address"] = None
    columns: Annotated[str | None, "the columns of a csv file"] = None
    bytes: Annotated[int | None, "size of the download"] = None
    checksum: Annotated[str | None, "checksum of the download"] = None
    requests: Annotated[int | None, "requests in it"] = None
    objects: Annotated[int | None, "objects in it"] = None
    obtain: Annotated[str | None, "how to get it where it has no address"] = None

    @property
    def file_name(self) -> str:
        """The name under which it is kept, within the directory of its set."""
        return (self.url or self.name).split("?")[0].rstrip("/").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class TraceSet:
    """Traces of one origin and licence."""

    name: Annotated[str, "its name"]
    title: Annotated[str, "its title"]
    kind: Annotated[str, "the kind of system that was traced"]
    source: Annotated[str, "where it is published"]
    licence: Annotated[str, "its terms in words"]
    paper: Annotated[str | None, "the paper that describes it"] = None
    note: Annotated[str | None, "a remark"] = None
    files: Annotated[tuple[TraceFile, ...], "its traces"] = ()


def read_catalogue() -> tuple[TraceSet, ...]:
    """Return the sets of the catalogue, in its order."""
    document = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))
    return tuple(
        TraceSet(**{key: value for key, value in each.items() if key != "file"}, files=_files(each))
        for each in document["set"]
    )


def _files(table: Mapping[str, Any]) -> tuple[TraceFile, ...]:
    return tuple(TraceFile(**each) for each in table.get("file", ()))


def find_file(name: str, sets: tuple[TraceSet, ...]) -> TraceFile:
    """Return the trace of that name, or the only one of a set. Raises UserError with the nearest name."""
    for each in sets:
        if each.name == name:
            if len(each.files) == 1:
                return each.files[0]
            if not each.files:
                raise UserError(f"{name} has no trace that could be fetched; see {each.source}")
            raise UserError(f"{name} is a set; fetch one of {', '.join(f.name for f in each.files)}")
        for file in each.files:
            if file.name == name:
                return file
    known = [each.name for each in sets] + [file.name for each in sets for file in each.files]
    raise UserError(f"no trace {name!r} in the catalogue{did_you_mean(name, known)} (`vulcan traces list` lists them)")


_CHUNK = 1 << 20


def checksum_like(expected: str, path: Path) -> str:
    """Return the checksum of a file, written `kind:hexadecimal`, of the same kind as `expected`. Raises OSError."""
    kind = expected.partition(":")[0]
    digest = hashlib.new("sha1" if kind == "git-blob-sha1" else kind, usedforsecurity=False)
    if kind == "git-blob-sha1":  # git's name of a file's content: of its length and then the content
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{kind}:{digest.hexdigest()}"
