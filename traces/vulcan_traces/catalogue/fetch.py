"""Download of a catalogue's trace: resumable, verified, and installed atomically.

While it is under way, the content is in `<name>.part`, and `<name>.part.json` remembers which content of which address
it is: the ETag or, if there is none, the date of the last change. A later fetch asks for the rest on condition that
this still holds (If-Range, RFC 9110 section 13.1.5) and restarts where it does not.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

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


class _Gone(Exception):
    """Raised if the partial download is not a prefix of the server's current content."""


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
    try:
        if target.exists():
            return _there_already(file, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _Partial.opened(target) as partial:
            _fetch_all(file, partial, progress or (lambda done, total: None), pause)
            _verify(file, partial, target)
    except OSError as error:
        part = target.with_name(target.name + ".part")
        kept = f"; {part.stat().st_size:,} bytes are kept in {part}" if part.is_file() else ""
        if error.errno in _NO_ROOM:
            raise UserError(
                f"{file.name}: no room for it in {target.parent}{kept}; make room, and the same command resumes"
            ) from error
        raise UserError(f"{file.name}: {target.parent} cannot be written: {error.strerror or error}{kept}") from error
    return Fetched(target, file.checksum is not None, was_there=False)


def _there_already(file: TraceFile, target: Path) -> Fetched:
    if file.bytes is not None and target.stat().st_size != file.bytes:
        found, wanted = f"{target.stat().st_size:,} bytes", f"{file.bytes:,} bytes"
    elif file.checksum is not None:
        found, wanted = checksum_like(file.checksum, target), file.checksum
    else:
        return Fetched(target, verified=False, was_there=True)
    if found != wanted:
        raise UserError(
            f"{target} exists and is not {file.name}: {found}, expected {wanted}; move it away to download it again"
        )
    return Fetched(target, verified=True, was_there=True)


@dataclass
class _Partial:
    """The beginning of a file, locked against another fetch of it."""

    path: Path
    stream: IO[bytes]

    @classmethod
    @contextlib.contextmanager
    def opened(cls, target: Path) -> Iterator[_Partial]:
        import fcntl

        path = target.with_name(target.name + ".part")
        with path.open("ab", buffering=0) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(f"{target.name} is being fetched by another process, to {path}") from error
            try:
                yield cls(path, stream)
            except UserError:
                if os.fstat(stream.fileno()).st_size == 0:
                    path.unlink(missing_ok=True)
                raise

    @property
    def size(self) -> int:
        return os.fstat(self.stream.fileno()).st_size

    @property
    def _memory(self) -> Path:
        return self.path.with_name(self.path.name + ".json")

    def validator(self, url: str) -> str | None:
        """Return the server's validator of the partial content; None if unknown."""
        try:
            remembered = json.loads(self._memory.read_text(encoding="utf-8"))
            return str(remembered["validator"]) if remembered["url"] == url else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self, url: str, validator: str | None) -> None:
        """Discard the partial download."""
        self._memory.unlink(missing_ok=True)
        self.stream.truncate(0)
        if validator is not None:
            self._memory.write_text(json.dumps({"url": url, "validator": validator}), encoding="utf-8")

    def append(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:  # unbuffered, so that what was written is in the file, and a write may be a short one
            view = view[self.stream.write(view) :]

    def install(self, target: Path) -> None:
        os.fsync(self.stream.fileno())
        os.replace(self.path, target)
        self._memory.unlink(missing_ok=True)

    def set_aside(self, target: Path) -> None:
        os.replace(self.path, target)
        self._memory.unlink(missing_ok=True)


def _fetch_all(file: TraceFile, partial: _Partial, progress: Progress, pause: float) -> None:
    import httpx

    assert file.url is not None
    in_vain = 0
    timeout = httpx.Timeout(60.0, connect=20.0)
    with httpx.Client(timeout=timeout, follow_redirects=True, headers={"Accept-Encoding": "identity"}) as client:
        while True:
            before = partial.size
            try:
                _request(client, file, partial, progress)
                return
            except _Gone:
                partial.begin(file.url, None)
                in_vain += 1
            except (httpx.TransportError, _Interrupted) as error:
                in_vain = 0 if partial.size > before else in_vain + 1
                if in_vain >= ATTEMPTS:
                    raise UserError(_given_up(file, partial, error)) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise UserError(f"{file.name}: {file.url} cannot be fetched: {_reason(error)}") from error
            if in_vain >= ATTEMPTS:
                raise UserError(f"{file.name}: the server's answers about {file.url} contradict each other; try later")
            time.sleep(min(_MAX_PAUSE, pause * 2 ** max(0, in_vain - 1)))


def _given_up(file: TraceFile, partial: _Partial, error: Exception) -> str:
    kept = f"; {partial.size:,} bytes are kept in {partial.path}, and the same command resumes" if partial.size else ""
    return f"{file.name}: {file.url} cannot be fetched: {_reason(error)}{kept}"


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _request(client: httpx.Client, file: TraceFile, partial: _Partial, progress: Progress) -> None:
    """Request the file, or what is missing of it. Returns when all of it is there."""
    url, have = file.url or "", partial.size
    validator = partial.validator(url)
    if have and validator is None and file.checksum is None:
        partial.begin(url, None)  # nothing could tell whether what there is fits to the rest
        have = 0
    headers = {}
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator is not None:
            headers["If-Range"] = validator
    with client.stream("GET", url, headers=headers) as response:
        _check(file, response)
        total = _total(response, have)
        if response.status_code == 416:
            if total == have:
                return
            raise _Gone
        if file.bytes is not None and total is not None and total != file.bytes:
            raise UserError(
                f"{file.name}: {url} has {total:,} bytes and the catalogue says {file.bytes:,}: "
                "it has changed at its source"
            )
        if response.status_code != 206:
            partial.begin(url, _validator(response))
            have = 0
        elif _range_start(response) != have:
            raise _Gone
        _check_room(file, partial, None if total is None else total - have)
        for chunk in response.iter_raw():  # as it comes: chunks of a given size would lose their beginning to a cut
            partial.append(chunk)
            progress(partial.size, total)
    if total is not None and partial.size != total:
        raise _Gone if partial.size > total else _Interrupted(f"{partial.size:,} of {total:,} bytes came")


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


def _total(response: httpx.Response, have: int) -> int | None:
    """Return how long the whole file is, if the server says so."""
    if response.status_code in (206, 416):
        after = response.headers.get("Content-Range", "").rpartition("/")[2]
        if after.isdecimal():
            return int(after)
        if response.status_code == 416:
            return None
    length = response.headers.get("Content-Length", "")
    return int(length) + (have if response.status_code == 206 else 0) if length.isdecimal() else None


def _range_start(response: httpx.Response) -> int | None:
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    start = rest.partition("-")[0]
    return int(start) if unit == "bytes" and start.isdecimal() else None


def _validator(response: httpx.Response) -> str | None:
    etag: str | None = response.headers.get("ETag")
    if etag is not None and not etag.startswith("W/"):  # If-Range takes strong ones alone
        return etag
    changed: str | None = response.headers.get("Last-Modified")
    return changed


def _check_room(file: TraceFile, partial: _Partial, missing: int | None) -> None:
    free = shutil.disk_usage(partial.path.parent).free
    if missing is not None and missing > free:
        raise UserError(
            f"{file.name}: no room for it in {partial.path.parent}: {missing:,} bytes are missing and {free:,} are "
            f"free; {partial.size:,} bytes are kept in {partial.path}; make room, and the same command resumes"
        )


def _verify(file: TraceFile, partial: _Partial, target: Path) -> None:
    found: Any = partial.size
    wanted: Any = file.bytes
    if (wanted is None or found == wanted) and file.checksum is not None:
        found, wanted = checksum_like(file.checksum, partial.path), file.checksum
    if wanted is None or found == wanted:
        partial.install(target)
        return
    wrong = target.with_name(target.name + ".wrong")
    partial.set_aside(wrong)
    unit = " bytes" if isinstance(found, int) else ""
    raise UserError(
        f"{file.name}: the download does not match the catalogue: {found}{unit}, expected {wanted}{unit}; "
        f"it is kept as {wrong}, and the same command downloads it again"
    )
