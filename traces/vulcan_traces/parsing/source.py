"""Trace file as readers see it, plain or compressed."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import zstandard

from vulcan.errors import UserError

_HEAD = 1 << 20
_BLOCK = 1 << 24
_MAX_LINE = 1 << 20
_LINES_LOOKED_AT = 1000
_UTF8_MARK = b"\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Source:
    """A file, plain or compressed, and whether its malformed lines are skipped (and counted) or are
    errors."""

    path: Path
    skip_bad_lines: bool = False

    def check(self) -> None:
        """Raises UserError where there is no such file or nothing in it."""
        try:
            mode = self.path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(f"no trace at {self.path}: there is no such file") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror}") from error
        except ValueError as error:  # a NUL in the name
            raise UserError(f"{str(self.path)!r} cannot be the name of a file: {error}") from error
        if stat.S_ISDIR(mode):
            raise UserError(f"{self.path} is a directory; name a trace file")
        if not stat.S_ISREG(mode):
            raise UserError(f"{self.path} is not a regular file; copy the trace to a file first")
        if not self.head:
            raise UserError(f"{self.path}: the trace is empty")

    @cached_property
    def head(self) -> bytes:
        """The first MiB of the decompressed content."""
        head = b""
        for chunk in decompressed(self.path):
            head += chunk
            if len(head) >= _HEAD:
                break
        return head[:_HEAD]

    @property
    def is_whole(self) -> bool:
        """True if the head is all there is."""
        return len(self.head) < _HEAD

    @cached_property
    def first_lines(self) -> tuple[bytes, ...]:
        """Up to 1,000 non-blank lines from the start, stripped."""
        lines = self.head.removeprefix(_UTF8_MARK).split(b"\n", _LINES_LOOKED_AT)
        whole = lines if self.is_whole and len(lines) <= _LINES_LOOKED_AT else lines[:-1]
        stripped = [line.strip() for line in whole]
        return tuple(line for line in stripped if line)

    @cached_property
    def is_text(self) -> bool:
        """True if the first lines are there and have no control characters."""
        return bool(self.first_lines) and not any(_CONTROL.search(line) for line in self.first_lines)

    def sha256(self) -> str:
        """Return the digest of the file's bytes on disk, in hex."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def malformed(self, kind: str, number: int, why: str) -> UserError:
        """Return the error for a bad line or record, numbered from 1."""
        return UserError(f"{self.path}, {kind} {number}: {why}")

    def line_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole lines with the number, from 1, of the first line of each."""
        number = 1
        pending: list[bytes] = []
        pending_bytes = 0
        is_start = True
        for chunk in decompressed(self.path):
            pending.append(chunk)
            pending_bytes += len(chunk)
            if pending_bytes < _BLOCK:
                continue
            text = b"".join(pending)
            cut = text.rfind(b"\n") + 1
            block, rest = text[:cut], text[cut:]
            if len(rest) > _MAX_LINE:
                raise self.malformed("line", number + block.count(b"\n"), "longer than 1 MiB; is this text?")
            if block:
                yield number, block.removeprefix(_UTF8_MARK) if is_start else block
                number += block.count(b"\n")
                is_start = False
            pending, pending_bytes = [rest], len(rest)
        if text := b"".join(pending):
            yield number, text.removeprefix(_UTF8_MARK) if is_start else text


# Decompression, by a file's magic bytes, not by its name.

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
_ZSTD_CHUNK = 1 << 13
"""Compressed bytes at a time: zstd may make 128 KiB of four bytes, and has no bound on its output."""
_MAX_ZSTD_WINDOW = 2**31


def decompressed(path: Path) -> Iterator[bytes]:
    """Yield the content of a plain, gzip, xz or zstd file (by magic bytes) in non-empty chunks of any length.

    Raises UserError where the file cannot be read or is damaged.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            yield from _chunks(file, magic)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise UserError(f"{path}: damaged or truncated compressed file ({error}); download it again") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error


def _chunks(file: BinaryIO, magic: bytes) -> Iterator[bytes]:
    if magic.startswith(_ZSTD):
        yield from _zstd_chunks(file)
    elif magic.startswith(_GZIP):
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield from iter(lambda: unpacked.read(_CHUNK), b"")
    elif magic.startswith(_XZ):
        with lzma.LZMAFile(file) as unpacked_xz:
            yield from iter(lambda: unpacked_xz.read(_CHUNK), b"")
    else:
        yield from iter(lambda: file.read(_CHUNK), b"")


def _zstd_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Frame by frame, because zstandard's own stream reader takes a truncated frame for the end."""
    context = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW)
    frame = context.decompressobj()
    within_frame = False
    while compressed := file.read(_ZSTD_CHUNK):
        while compressed:
            if output := frame.decompress(compressed):
                yield output
            within_frame = not frame.eof
            compressed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = context.decompressobj()
    if within_frame:
        raise EOFError("it ends within a zstd frame")
