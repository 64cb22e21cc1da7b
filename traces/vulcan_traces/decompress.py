"""A file's content, decompressed by what it holds and not by what it is called."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from vulcan.errors import UserError

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
_ZSTD_CHUNK = 1 << 13
"""Compressed bytes at a time: zstd may make 128 KiB of four bytes, and has no bound on its output."""
_MAX_ZSTD_WINDOW = 2**31


def decompressed(path: Path) -> Iterator[bytes]:
    """The content of a plain, gzip, xz or zstd file (by magic bytes) in non-empty chunks of any length.

    Raises UserError where the file cannot be read or is damaged.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(6)
            file.seek(0)
            yield from _chunks(file, magic)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise UserError(f"{path}: damaged or truncated compressed file ({error}); fetch it anew") from error
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
