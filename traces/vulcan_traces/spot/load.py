"""Loading of spot traces: generated ones, files, directories of files, and folders inside a tar archive."""

from __future__ import annotations

import functools
import lzma
import re
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from vulcan.errors import UserError
from vulcan_traces.spot.markov import PREFIX, generate_markov
from vulcan_traces.spot.read import MEANINGS, Meaning, read_spot
from vulcan_traces.spot.spot_trace import SpotTrace

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
    return tuple(
        read_spot(text, PurePosixPath(place).stem, place, chosen, nodes) for place, text in sorted(contents.items())
    )


def _in_files(path: Path) -> dict[str, bytes]:
    try:
        if path.is_dir():
            found = sorted(path.glob("*.json"))
            if not found:
                raise UserError(f"{path}: no JSON file lies in this directory")
        else:
            found = [path]
        return {str(place): place.read_bytes() for place in found}
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def _archived(archive: Path, folder: str) -> dict[str, bytes]:
    wanted = folder.strip("/")
    try:
        known = archive.stat()
        members = _members(archive, known.st_mtime_ns, known.st_size)
    except (OSError, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{archive}: cannot be read: {reason}") from error
    found = {
        f"{archive}:{place}": zlib.decompress(content)
        for place, content in members.items()
        if place == wanted or place.rpartition("/")[0] == wanted
    }
    if not found:
        raise UserError(f"{archive}: no JSON file lies in its folder {wanted!r}")
    return found


@functools.lru_cache(maxsize=1)
def _members(archive: Path, modified: int, size: int) -> dict[str, bytes]:
    """Return the JSON files of an archive, compressed; finding any one reads the whole archive, so that is done once.

    `modified` and `size` tell apart versions of the file.
    """
    found = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            content = opened.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
            if content is not None:
                found[member.name.removeprefix("./")] = zlib.compress(content.read(), level=1)
    return found
