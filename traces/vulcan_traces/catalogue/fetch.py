"""Download of a catalogue's trace: verified, and installed atomically."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vulcan.errors import UserError
from vulcan_traces.catalogue.catalogue import TraceFile, checksum_like

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5

Progress = Callable[[int, int | None], None]
"""Told the bytes that are there, and how many there will be if that is known."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Downloaded trace. `verified`: its checksum is known and matches; `was_there`: nothing was downloaded."""

    path: Path
    verified: bool
    was_there: bool


class _Interrupted(Exception):
    """The server has trouble: worth another attempt."""


def fetch(
    file: TraceFile,
    directory: Path,
    *,
    progress: Progress | None = None,
    pause: float = 1.0,
) -> Fetched:
    """Download a trace to `directory/<set>/<file name>` and verify it. Proxies are taken from the environment.

    A download that breaks off is begun anew, after `pause` seconds and then twice as long each time. Raises UserError
    where the trace cannot be fetched, where its content is not that of the catalogue, and where there is no room for
    it; then nothing is left of it.
    """
    if file.url is None:
        raise UserError(f"{file.name} has no direct address: {file.obtain}")
    target = directory / file.name.partition("/")[0] / file.file_name
    was_there = target.exists()
    try:
        if was_there:
            found, wanted = _compared(file, target)
            if found != wanted:
                raise UserError(
                    f"{target} exists and is not {file.name}: {found}, expected {wanted}; move it away to download it "
                    "again"
                )
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as folder:
                part = Path(folder, target.name)
                _download(file, file.url, part, progress or (lambda done, total: None), pause)
                found, wanted = _compared(file, part)
                if found != wanted:
                    raise UserError(
                        f"{file.name}: the download does not match the catalogue: {found}, expected {wanted}"
                    )
                os.replace(part, target)
    except OSError as error:
        raise UserError(f"{file.name}: {target.parent} cannot be written: {error.strerror or error}") from error
    return Fetched(target, file.checksum is not None, was_there)


def _compared(file: TraceFile, path: Path) -> tuple[str, str]:
    """Return what a file is and what it should be, by its size if that is wrong, else by its checksum, if known."""
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        return f"{size:,} bytes", f"{file.bytes:,} bytes"
    return (checksum_like(file.checksum, path), file.checksum) if file.checksum is not None else ("", "")


def _download(file: TraceFile, url: str, part: Path, progress: Progress, pause: float) -> None:
    import httpx

    timeout = httpx.Timeout(60.0, connect=20.0)
    with httpx.Client(timeout=timeout, follow_redirects=True, headers={"Accept-Encoding": "identity"}) as client:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with client.stream("GET", url) as response:
                    _receive(file, url, response, part, progress)
                return
            except (httpx.HTTPError, _Interrupted) as error:
                if attempt == ATTEMPTS:
                    reason = " ".join(str(error).split()) or type(error).__name__
                    raise UserError(f"{file.name}: {url} cannot be fetched: {reason}") from error
            time.sleep(pause * 2 ** (attempt - 1))


def _receive(file: TraceFile, url: str, response: httpx.Response, part: Path, progress: Progress) -> None:
    if response.url.scheme != "https" and url.startswith("https:"):
        raise UserError(f"{file.name}: {url} leads to {response.url}, which is not secure; nothing was fetched")
    said = f"the server answers {response.status_code} {response.reason_phrase}".rstrip()
    if response.status_code >= 500 or response.status_code in (408, 425, 429):
        raise _Interrupted(said)
    if response.status_code != 200:
        raise UserError(f"{file.name}: {response.url} cannot be fetched: {said}")
    if response.headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
        raise UserError(f"{file.name}: the server at {response.url} sent a content encoding that was not requested")
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    if file.bytes is not None and total is not None and total != file.bytes:
        raise UserError(
            f"{file.name}: {url} has {total:,} bytes and the catalogue says {file.bytes:,}: it has changed at its "
            "source"
        )
    free = shutil.disk_usage(part.parent).free
    if total is not None and total > free:
        raise UserError(
            f"{file.name}: no room for it in {part.parent.parent}: it has {total:,} bytes, {free:,} are free"
        )
    with part.open("wb") as stream:
        for chunk in response.iter_raw():
            stream.write(chunk)
            progress(stream.tell(), total)
