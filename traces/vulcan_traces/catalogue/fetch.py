"""Download of a catalogue's trace: resumable, verified, and installed atomically.

While it is under way, the content is in `<name>.part`. A later fetch asks for the rest of it if the catalogue has the
checksum, which tells whether the parts fit together; otherwise it starts anew.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from vulcan.errors import UserError
from vulcan_traces.catalogue.catalogue import TraceFile, checksum_like

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
"""Maximum consecutive attempts without progress before a download fails."""

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_MAX_PAUSE = 30.0

Progress = Callable[[int, int | None], None]
"""Told the bytes that are there, and how many there will be if that is known."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Downloaded trace. `verified`: its checksum is known and matches; `was_there`: nothing was downloaded."""

    path: Path
    verified: bool
    was_there: bool


class _Interrupted(Exception):
    """The connection broke or the server has trouble: worth another attempt."""


def fetch(
    file: TraceFile,
    directory: Path,
    *,
    progress: Progress | None = None,
    pause: float = 1.0,
) -> Fetched:
    """Download a trace to `directory/<set>/<file name>` and verify it. Proxies are taken from the environment.

    A broken connection is taken up again where it broke, after `pause` seconds and then twice as long each time. Raises
    UserError, saying what is kept, where the trace cannot be fetched, where its content is not that of the catalogue,
    and where there is no room for it.
    """
    if file.url is None:
        raise UserError(f"{file.name} has no direct address: {file.obtain}")
    target = directory / file.name.partition("/")[0] / file.file_name
    part = target.with_name(target.name + ".part")
    try:
        if target.exists():
            return _there_already(file, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab", buffering=0) as stream:
            _lock(stream, target)
            try:
                _fetch_all(file, stream, part, progress or (lambda done, total: None), pause)
            finally:
                if _size(stream) == 0:
                    part.unlink(missing_ok=True)
            os.fsync(stream.fileno())
            _verify(file, part, target)
    except OSError as error:
        kept = _kept(part)
        if error.errno in _NO_ROOM:
            raise UserError(
                f"{file.name}: no room for it in {target.parent}{kept}; make room, and the same command resumes"
            ) from error
        raise UserError(f"{file.name}: {target.parent} cannot be written: {error.strerror or error}{kept}") from error
    return Fetched(target, file.checksum is not None, was_there=False)


def _kept(part: Path) -> str:
    there = part.is_file() and part.stat().st_size
    return f"; {there:,} bytes are kept in {part}" if there else ""


def _size(stream: IO[bytes]) -> int:
    return os.fstat(stream.fileno()).st_size


def _there_already(file: TraceFile, target: Path) -> Fetched:
    found, wanted = _compared(file, target)
    if found != wanted:
        raise UserError(
            f"{target} exists and is not {file.name}: {found}, expected {wanted}; move it away to download it again"
        )
    return Fetched(target, verified=file.checksum is not None, was_there=True)


def _compared(file: TraceFile, path: Path) -> tuple[str, str]:
    """Return what a file is and what it should be, by its size if that is wrong, else by its checksum, if known."""
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        return f"{size:,} bytes", f"{file.bytes:,} bytes"
    return (checksum_like(file.checksum, path), file.checksum) if file.checksum is not None else ("", "")


def _lock(stream: IO[bytes], target: Path) -> None:
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(f"{target.name} is being fetched by another process, to {stream.name}") from error


def _fetch_all(file: TraceFile, stream: IO[bytes], part: Path, progress: Progress, pause: float) -> None:
    import httpx

    in_vain = 0
    timeout = httpx.Timeout(60.0, connect=20.0)
    with httpx.Client(timeout=timeout, follow_redirects=True, headers={"Accept-Encoding": "identity"}) as client:
        while True:
            before = _size(stream)
            try:
                _request(client, file, stream, part, progress)
                return
            except (httpx.TransportError, _Interrupted) as error:
                in_vain = 0 if _size(stream) > before else in_vain + 1
                if in_vain >= ATTEMPTS:
                    resumes = f"{_kept(part)}, and the same command resumes" if _kept(part) else ""
                    raise UserError(f"{file.name}: {file.url} cannot be fetched: {_reason(error)}{resumes}") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise UserError(f"{file.name}: {file.url} cannot be fetched: {_reason(error)}") from error
            time.sleep(min(_MAX_PAUSE, pause * 2 ** max(0, in_vain - 1)))


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _request(client: httpx.Client, file: TraceFile, stream: IO[bytes], part: Path, progress: Progress) -> None:
    """Request the file, or what is missing of it. Returns when all of it is there."""
    if file.checksum is None:
        stream.truncate(0)  # nothing could tell whether what there is fits to the rest
    have = _size(stream)
    if have and have == file.bytes:
        return
    with client.stream("GET", file.url or "", headers={"Range": f"bytes={have}-"} if have else {}) as response:
        _check(file, response)
        start, total = _range(response)
        if start != have:
            stream.truncate(0)
            if start:
                raise _Interrupted("the server does not send the part that was asked for")
        if file.bytes is not None and total is not None and total != file.bytes:
            raise UserError(
                f"{file.name}: {file.url} has {total:,} bytes and the catalogue says {file.bytes:,}: "
                "it has changed at its source"
            )
        _check_room(file, part, None if total is None else total - start)
        for chunk in response.iter_raw():  # as it comes: chunks of a given size would lose their beginning to a cut
            view = memoryview(chunk)
            while view:  # unbuffered, so that what was written is in the file, and a write may be a short one
                view = view[stream.write(view) :]
            progress(_size(stream), total)
    if total is not None and _size(stream) != total:
        raise _Interrupted(f"{_size(stream):,} of {total:,} bytes came")


def _check(file: TraceFile, response: httpx.Response) -> None:
    if response.url.scheme not in ("http", "https") or (
        str(file.url).startswith("https:") and response.url.scheme != "https"
    ):
        raise UserError(f"{file.name}: {file.url} leads to {response.url}, which is not secure; nothing was fetched")
    code = response.status_code
    if code >= 500 or code in (408, 425, 429):
        raise _Interrupted(f"the server answers {code} {response.reason_phrase}".rstrip())
    if code not in (200, 206, 416):
        said = f"{code} {response.reason_phrase}".rstrip()
        raise UserError(f"{file.name}: {response.url} cannot be fetched: the server answers {said}")
    if response.headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
        raise UserError(f"{file.name}: the server at {response.url} sent a content encoding that was not requested")


def _range(response: httpx.Response) -> tuple[int, int | None]:
    """Return where the content begins (-1 if nowhere: the range was refused), and how long the file is, if known."""
    span, _, whole = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    total = int(whole) if whole.isdecimal() else None
    match response.status_code:
        case 416:
            return -1, total
        case 206:
            start = span.partition("-")[0]
            return int(start) if start.isdecimal() else -1, total
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else None


def _check_room(file: TraceFile, part: Path, missing: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if missing is not None and missing > free:
        raise UserError(
            f"{file.name}: no room for it in {part.parent}: {missing:,} bytes are missing and {free:,} are "
            f"free{_kept(part)}; make room, and the same command resumes"
        )


def _verify(file: TraceFile, part: Path, target: Path) -> None:
    found, wanted = _compared(file, part)
    wrong = target.with_name(target.name + ".wrong")
    os.replace(part, target if found == wanted else wrong)
    if found != wanted:
        raise UserError(
            f"{file.name}: the download does not match the catalogue: {found}, expected {wanted}; "
            f"it is kept as {wrong}, and the same command downloads it again"
        )
