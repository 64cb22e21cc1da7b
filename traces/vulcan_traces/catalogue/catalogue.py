"""Catalogue of public traces: a TOML file, described at its head."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from vulcan.errors import UserError, did_you_mean
from vulcan.inputs import read_input
from vulcan_traces.readers import FORMATS

CATALOGUE = Path(__file__).with_name("catalogue.toml")
"""The one that comes with Vulcan."""

_MAX = 1 << 20
_NAME = re.compile(r"[a-z0-9][A-Za-z0-9._-]*")
_URL = re.compile(r"https?://[^\s/]+/\S*")


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
    files: Annotated[tuple[TraceFile, ...], "its traces"] = field(default=(), metadata={"toml": "file"})


def read_catalogue(path: Path = CATALOGUE) -> tuple[TraceSet, ...]:
    """Return the sets of a catalogue file, in its order. Raises UserError where it is not one."""
    try:
        document = tomllib.loads(read_input(path, "catalogue", _MAX, "name a TOML file").decode("utf-8"))
    except ValueError as error:  # neither UTF-8 nor TOML, or a number that int() refuses
        raise UserError(f"the catalogue {path} is not valid TOML: {error}") from error
    _check_keys(path, "the file", document, {"set"}, {"set"})
    sets = tuple(_set(path, each) for each in _tables(path, document, "set"))
    for kind, names in (("set", [s.name for s in sets]), ("trace", [f.name for s in sets for f in s.files])):
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"the catalogue {path} has two {kind}s named {name!r}")
    return sets


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


def _set(path: Path, table: Mapping[str, Any]) -> TraceSet:
    values = _values(path, table, TraceSet, "set")
    name = values["name"]
    if not _NAME.fullmatch(name):
        raise UserError(f"the catalogue {path}: {name!r} is not the name of a set")
    files = tuple(_file(path, name, each) for each in _tables(path, table, "file"))
    return TraceSet(**values, files=files)


def _file(path: Path, set_name: str, table: Mapping[str, Any]) -> TraceFile:
    file = TraceFile(**_values(path, table, TraceFile, "trace"))
    where = f"the catalogue {path}, trace {file.name!r}"
    prefix, _, rest = file.name.partition("/")
    if prefix != set_name or not re.fullmatch(r"[A-Za-z0-9._-]+", rest):
        raise UserError(f"{where}: its name must be '{set_name}/...'")
    if file.format not in FORMATS:
        raise UserError(f"{where}: no trace format {file.format!r}{did_you_mean(file.format, FORMATS)}")
    if file.checksum is not None and not is_checksum(file.checksum):
        raise UserError(f"{where}: {file.checksum!r} is not a checksum (such as sha256: and 64 hexadecimal digits)")
    if (file.url is None) == (file.obtain is None):
        raise UserError(f"{where}: either url or obtain")
    if file.url is not None and not _URL.fullmatch(file.url):
        raise UserError(f"{where}: {file.url!r} is not an http or https address")
    if file.file_name in ("", ".", ".."):
        raise UserError(f"{where}: its address does not end in the name of a file")
    return file


def _tables(path: Path, table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UserError(f"the catalogue {path}: {key!r} must be tables, written [[...{key}]]")
    return found


def _values(path: Path, table: Mapping[str, Any], of: Any, kind: str) -> dict[str, Any]:
    """Return the values of a table for the fields of a dataclass, type-checked."""
    hints = get_type_hints(of)
    known = {each.metadata.get("toml", each.name): each for each in fields(of)}
    name = table.get("name")
    where = f"{kind} {name!r}"
    needed = {key for key, each in known.items() if each.default is MISSING and each.default_factory is MISSING}
    _check_keys(path, where, table, set(known), needed)
    values = {key: value for key, value in table.items() if key != "file"}
    for key, value in values.items():
        whole = hints[key] == int | None
        right = isinstance(value, int) and value >= 0 if whole else isinstance(value, str) and value != ""
        if not right or isinstance(value, bool):
            raise UserError(f"the catalogue {path}, {where}: {key} must be {'a whole number' if whole else 'a text'}")
    return values


def _check_keys(path: Path, where: str, table: Mapping[str, Any], known: set[str], needed: set[str]) -> None:
    for key in table:
        if key not in known:
            raise UserError(f"the catalogue {path}, {where}: unknown key {key!r}{did_you_mean(key, known)}")
    for key in sorted(needed - set(table)):
        raise UserError(f"the catalogue {path}, {where}: {key!r} is missing")


# Checksums of files, written `kind:hexadecimal`.

_DIGITS = {"sha256": 64, "md5": 32, "git-blob-sha1": 40}
_CHUNK = 1 << 20


def is_checksum(text: str) -> bool:
    """Check whether the text is a checksum of a known kind."""
    kind, _, digits = text.partition(":")
    return kind in _DIGITS and re.fullmatch(rf"[0-9a-f]{{{_DIGITS[kind]}}}", digits) is not None


def checksum_like(expected: str, path: Path) -> str:
    """Return the checksum of a file, of the same kind as `expected`. Raises OSError."""
    kind = expected.partition(":")[0]
    digest = hashlib.new("sha1" if kind == "git-blob-sha1" else kind, usedforsecurity=False)
    if kind == "git-blob-sha1":  # git's name of a file's content: of its length and then the content
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{kind}:{digest.hexdigest()}"
