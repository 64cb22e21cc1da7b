"""Content-addressed store of named arrays: made once per host, and memory-mapped by all its processes."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan.paths import cache_directory, use_temporary_cache

_META = "meta.json"
_BLOCK = 1 << 20

log = logging.getLogger(__name__)

Array = NDArray[Any]
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class ArrayStore(Generic[Kept]):
    """Array store: a folder of the cache directory with an entry for each digest.

    `what` names an entry in messages, `types` has the dtype of each of its arrays. `build(name, digest, meta, arrays)`
    makes what is asked for from an entry; it returns None, or raises ValueError, KeyError or TypeError, where shapes
    or `meta` are not as they were kept.
    """

    folder: str
    what: str
    types: Mapping[str, type[np.generic]]
    build: Callable[[str, str, Mapping[str, Any], Mapping[str, Array]], Kept | None]

    def find_or_make(self, name: str, digest: str, write: Callable[[Path], Mapping[str, Any]]) -> Kept:
        """Return the entry of that digest, memory-mapped. If it is missing, `write` makes it, once per host.

        `write(folder)` writes each array there as a `.npy` file and gives `meta`. Processes that want the same thing
        wait for the first one. Raises UserError where writing fails.
        """
        entry = self._entry(digest)
        if entry.exists():
            if (known := self._open(entry, name, digest)) is not None:
                return known
            log.warning("the %s in %s is damaged; it is made again", self.what, entry)
        with _alone_in(entry.parent):
            found = (self._open(entry, name, digest) if entry.exists() else None) or self._made(name, digest, write)
        if found is None:
            raise UserError(f"the {self.what} in {entry} was damaged as soon as it was written: is the disk in order?")
        return found

    def _made(self, name: str, digest: str, write: Callable[[Path], Mapping[str, Any]]) -> Kept | None:
        entry = self._entry(digest)
        try:
            work = Path(tempfile.mkdtemp(prefix=".writing-", dir=entry.parent))
            try:
                meta = write(work)
                checksums = {array: _checksum(work / f"{array}.npy") for array in self.types}
                text = json.dumps({**meta, "digest": digest, "crc32": checksums}, indent=1)
                (work / _META).write_text(text, encoding="utf-8")
                self._install(work, entry, name, digest)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        except OSError as error:
            if use_temporary_cache(error):
                return self._made(name, digest, write)
            raise UserError(
                f"cannot keep the {self.what} in {entry.parent}: {error.strerror or error}; "
                "make room, or set VULCAN_CACHE_DIR to another place"
            ) from error
        return self._open(entry, name, digest)

    def _entry(self, digest: str) -> Path:
        return cache_directory(self.folder, digest[:2]) / digest

    def _install(self, work: Path, entry: Path, name: str, digest: str) -> None:
        """Move the written folder into the place of a damaged entry, or of none; a good one is left, and used."""
        if entry.is_file():
            entry.unlink(missing_ok=True)
        elif entry.exists() and self._open(entry, name, digest) is None:
            shutil.rmtree(entry, ignore_errors=True)
        try:
            os.replace(work, entry)
        except OSError:
            if not entry.exists():
                raise

    def _open(self, entry: Path, name: str, digest: str) -> Kept | None:
        """Load an entry; None if it differs from what was written. Raises UserError where it cannot be read."""
        try:
            meta = json.loads((entry / _META).read_text(encoding="utf-8"))
            arrays: dict[str, Array] = {
                array: np.load(entry / f"{array}.npy", mmap_mode="r", allow_pickle=False) for array in self.types
            }
            intact = meta["digest"] == digest and all(
                values.dtype == self.types[array] and _checksum(entry / f"{array}.npy") == meta["crc32"][array]
                for array, values in arrays.items()
            )
            return self.build(name, digest, meta, arrays) if intact else None
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError, KeyError, TypeError, EOFError):
            return None
        except (OSError, MemoryError) as error:
            why = getattr(error, "strerror", None) or "not enough memory"
            raise UserError(f"the {self.what} in {entry} cannot be opened: {why}") from error


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock against other processes of this host. A file system without locks is no error."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # then two do the same work, and the second uses what the first has made
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _checksum(path: Path) -> int:
    """CRC-32 of an array's values: an index out of range in a damaged column would crash compiled code.

    Read, and not mapped: a column that is only checked is not to count as this process's memory.
    """
    checksum = 0
    with path.open("rb") as file:
        file.seek(np.load(path, mmap_mode="r", allow_pickle=False).offset)
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum
