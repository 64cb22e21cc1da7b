"""Loading of spot traces: generated ones, files, directories of files, and folders inside a tar archive."""

from __future__ import annotations

import functools
import re
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath

from vulcan.errors import UserError
from vulcan_traces.parsing.compression import damage_as_error, decompressed
from vulcan_traces.parsing.source import Source
from vulcan_traces.spot.markov import PREFIX, generate_markov
from vulcan_traces.spot.read import MEANINGS, Meaning, read_spot
from vulcan_traces.spot.spot_trace import SpotTrace

_MAX = 1 << 25
"""Bytes of a trace: ten million ticks."""

_MAX_ARCHIVE = 1 << 28
"""Bytes of a whole archive, decompressed."""

_IN_ARCHIVE = re.compile(r"(?P<archive>.+?\.(?:tar|tar\.gz|tgz|tar\.xz|tar\.bz2)):(?P<folder>.*)\Z")


def load_spot(spec: str, *, meaning: str | None = None, nodes: int = 1) -> tuple[SpotTrace, ...]:
    """Return the traces that a text names: one, or several windows of one environment, sorted by name.

    `spec` is `markov:...` (see `vulcan_traces.spot.markov`), a JSON file, a directory, which stands for the JSON files
    that lie in it, or `ARCHIVE.tar.gz:FOLDER`, which stands for those in that folder of the archive (or for the one
    file of that name). `meaning` and `nodes` are those of `vulcan_traces.spot.read.read_spot`. Raises UserError.
    """
    if spec.startswith(PREFIX):
        return (generate_markov(spec),)
    if meaning is not None and meaning not in MEANINGS:
        raise UserError(f"spot traces count {' or '.join(MEANINGS)}, not {meaning!r}")
    chosen: Meaning | None = "available" if meaning == "available" else "preempted" if meaning else None
    if nodes < 1:
        raise UserError(f"{nodes} nodes: at least 1 is needed")
    inside = _IN_ARCHIVE.match(spec)
    contents = _archived(Path(inside["archive"]), inside["folder"]) if inside else _in_files(Path(spec))
    traces = tuple(
        read_spot(text, PurePosixPath(place).stem, place, chosen, nodes) for place, text in sorted(contents.items())
    )
    if nodes > 1 and not any(trace.available.any() for trace in traces):
        raise UserError(f"{spec}: there are never {nodes} VMs at once (--nodes)")
    return traces


def _in_files(path: Path) -> dict[str, bytes]:
    try:
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    if not found:
        raise UserError(f"{path}: no JSON file lies in this directory")
    return {str(place): _content(place) for place in found}


def _content(path: Path) -> bytes:
    source = Source(path)
    source.check()
    return source.text(_MAX)


def _archived(archive: Path, folder: str) -> dict[str, bytes]:
    wanted = folder.strip("/")
    try:
        known = archive.stat()
    except (OSError, ValueError) as error:
        raise UserError(f"{archive}: cannot be read: {getattr(error, 'strerror', error)}") from error
    found = {
        f"{archive}:{place}": zlib.decompress(content)
        for place, content in _members(archive, known.st_mtime_ns, known.st_size).items()
        if place == wanted or place.rpartition("/")[0] == wanted
    }
    if not found:
        raise UserError(f"{archive}: no JSON file lies in its folder {wanted!r}")
    return found


@functools.lru_cache(maxsize=1)
def _members(archive: Path, modified: int, length: int) -> dict[str, bytes]:
    """Return the JSON files of an archive, compressed; finding any one reads the whole archive, so that is done once.

    `modified` and `length` tell apart versions of the file. Raises UserError.
    """
    found = {}
    size = 0
    with damage_as_error(archive), tempfile.TemporaryFile() as content:
        for chunk in decompressed(archive):
            size += content.write(chunk)
            if size > _MAX_ARCHIVE:
                raise UserError(f"{archive}: has more than {_MAX_ARCHIVE:,} bytes; extract what is meant")
        content.seek(0)
        with tarfile.open(fileobj=content, mode="r:") as opened:
            for entry in opened:
                if (file := opened.extractfile(entry)) is not None and entry.name.endswith(".json"):
                    if entry.size > _MAX:
                        raise UserError(f"{archive}: {entry.name} has more than {_MAX:,} bytes; use a part of it")
                    found[entry.name.removeprefix("./")] = zlib.compress(file.read(), level=1)
    return found
