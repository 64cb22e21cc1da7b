"""Content of a file, whatever it is packed in: gzip, bzip2, xz, zstd, a zip archive of one file, Parquet.

What a file is says its first bytes, not its name. Compressed files may consist of several streams; all of them are
read, and whatever else follows is damage. Content that is far larger than its file is refused, so that a small file
fills neither memory nor disk.
"""

from __future__ import annotations

import bz2
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from vulcan.errors import UserError
from vulcan.inputs import open_regular
from vulcan.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

_CHUNK = 1 << 20
_COMPRESSED_CHUNK = 1 << 12
"""Compressed bytes at a time: bzip2 and zstd may make megabytes of a few hundred, and have no bound on their output."""
_MAX_WINDOW_LOG = 30
_MAX_WINDOW = 2**_MAX_WINDOW_LOG
"""Bytes of what was decompressed that a decompressor may have to keep."""

_MAX_RATIO = 500
_FREE = 1 << 26
"""Bytes from which on content may not be more than `_MAX_RATIO` times as large as its file."""

DAMAGED = (
    EOFError,
    MemoryError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    ZstdError,
)
"""Exceptions of the libraries for damaged, encrypted or unsupported files; an OSError without a number is another."""


def decompressed(path: Path) -> Iterator[bytes]:
    """Yield the content of a file in non-empty chunks of any length; of a file in a zip archive where `path` names one.

    Raises UserError where the file cannot be read, is damaged, has several files in it, or is far larger inside.
    """
    archive = archive_of(path)
    total = 0
    with damage_as_error(path), open_regular(archive or path) as file:
        most = max(_FREE, _MAX_RATIO * file.seek(0, 2))
        file.seek(0)
        member = path.relative_to(archive).as_posix() if archive else None
        for chunk in _content(file, path, member):
            total += len(chunk)
            if total > most:
                raise UserError(
                    f"{path}: its content is more than {_MAX_RATIO} times as large as the file; "
                    "if that is right, decompress it first"
                )
            for at in range(0, len(chunk), _CHUNK):  # which a decompressor may make much larger
                yield chunk[at : at + _CHUNK]


@contextmanager
def damage_as_error(path: Path) -> Iterator[None]:
    """Have whatever libraries raise for a file that is damaged, or cannot be read, be a UserError."""
    try:
        yield
    except DAMAGED as error:
        raise UserError(f"{path}: damaged or truncated compressed file ({error}); download it again") from error
    except OSError as error:
        if error.errno is None:
            raise UserError(f"{path}: damaged or truncated compressed file ({error}); download it again") from error
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def archive_of(path: Path) -> Path | None:
    """Return the zip archive that `path` names a file in, as in `dataset.zip/folder/file.csv`; None for other paths."""
    return next((parent for parent in path.parents if parent.suffix == ".zip" and parent.is_file()), None)


@dataclass(frozen=True, slots=True)
class _Codec:
    """`make` returns a decompressor of one stream; `padding` zeros, or a multiple of so many, may follow a stream."""

    magic: bytes
    make: Callable[[], Any]
    padding: int = 0


_CODECS = (
    _Codec(b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31), padding=1),
    _Codec(b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_WINDOW), padding=4),
    _Codec(b"BZh", bz2.BZ2Decompressor),
    _Codec(
        b"\x28\xb5\x2f\xfd", lambda: ZstdDecompressor(options={DecompressionParameter.window_log_max: _MAX_WINDOW_LOG})
    ),
)
_ZIP, _PARQUET = b"PK\x03\x04", b"PAR1"
_NOT_READ = {
    b"\x04\x22\x4d\x18": "compressed by lz4; decompress it first (lz4 -d)",
    b"ARROW1\0\0": "an Arrow (Feather) file; write it as Parquet, or as CSV",
}
_MAGIC_BYTES = 8


def _content(file: BinaryIO, path: Path, member: str | None) -> Iterator[bytes]:
    magic = file.read(_MAGIC_BYTES)
    file.seek(0)
    if member is not None or magic.startswith(_ZIP):
        yield from _in_zip(file, path, member)
    elif magic.startswith(_PARQUET):
        yield from _of_columns(file, path)
    else:
        for known, what in _NOT_READ.items():
            if magic.startswith(known):
                raise UserError(f"{path}: {what}")
        codec = next((codec for codec in _CODECS if magic.startswith(codec.magic)), None)
        yield from _streams(file, codec) if codec else _chunks(file)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK), b"")


def _streams(file: BinaryIO, codec: _Codec) -> Iterator[bytes]:
    """Stream by stream: the libraries' own files take whatever follows the first stream, or a cut one, for the end."""
    stream, within, zeros = codec.make(), False, 0
    while compressed := file.read(_COMPRESSED_CHUNK):
        while compressed:
            if not within and codec.padding:
                length = len(compressed)
                compressed = compressed.lstrip(b"\0")
                zeros += length - len(compressed)
                if not compressed:
                    break
                if zeros % codec.padding:
                    raise EOFError("zeros that are no padding follow a stream")
            if output := stream.decompress(compressed):
                yield output
            within = not stream.eof
            compressed = b""
            if stream.eof:
                compressed, stream, zeros = stream.unused_data, codec.make(), 0
    if within or (codec.padding and zeros % codec.padding):
        raise EOFError("it ends within a stream")


def _in_zip(file: BinaryIO, path: Path, member: str | None) -> Iterator[bytes]:
    with zipfile.ZipFile(file) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.filename.endswith("/")]
        if member is not None and member not in names:
            raise UserError(f"{path}: there is no {member} in this archive")
        if member is None and len(names) != 1:
            example = names[0] if names else "FILE"
            raise UserError(f"{path}: a zip archive of {len(names):,} files; name one, as {path}/{example}")
        with archive.open(member or names[0]) as content:
            yield from _chunks(cast(BinaryIO, content))


def _of_columns(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the table as CSV with a header, batch by batch."""
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ImportError:
        raise UserError(
            f"{path}: a Parquet file needs the package pyarrow (pip install pyarrow); or write it as CSV with pandas: "
            "read_parquet(FILE).to_csv(FILE, index=False)"
        ) from None
    try:
        for number, batch in enumerate(parquet.ParquetFile(file).iter_batches()):
            made = pyarrow.BufferOutputStream()
            csv.write_csv(batch, made, csv.WriteOptions(include_header=number == 0))
            yield made.getvalue().to_pybytes()
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: not read as Parquet: {' '.join(str(error).split())[:200]}") from error
