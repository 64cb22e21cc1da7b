"""Content of a file, whatever it is packed in: gzip, bzip2, xz, zstd, lz4, a zip or tar of one file, Parquet, Feather.

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
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import zstandard

from vulcan.errors import UserError
from vulcan.inputs import open_regular

_CHUNK = 1 << 20
_COMPRESSED_CHUNK = 1 << 12
"""Compressed bytes at a time: bzip2 and zstd may make megabytes of a few hundred, and have no bound on their output."""
_MAX_WINDOW = 2**30
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
    zstandard.ZstdError,
)
"""Exceptions of the libraries for damaged, encrypted or unsupported files; an OSError without a number is another."""


def decompressed(path: Path) -> Iterator[bytes]:
    """Yield the content of a file in non-empty chunks of any length; of a file in a zip archive where `path` names one.

    Raises UserError where the file cannot be read, is damaged, has several files in it, or is far larger inside.
    """
    yield from _with_errors(path, _only_file(_bounded(path), path))


def archived(path: Path, most: int) -> Iterator[tuple[str, BinaryIO]]:
    """Yield names and contents of the files in a tar archive, whose content has at most so many bytes.

    A content has to be read before the next is asked for. Raises UserError as `decompressed` does.
    """
    yield from _with_errors(path, _members(_ChunkedFile(_bounded(path), most)))


_Item = TypeVar("_Item")


def _with_errors(path: Path, found: Iterator[_Item]) -> Iterator[_Item]:
    try:
        yield from found
    except DAMAGED as error:
        raise UserError(f"{path}: damaged or truncated compressed file ({error}); download it again") from error
    except ModuleNotFoundError as error:
        raise UserError(
            f"{path}: an {error.name} file needs the package {error.name} (pip install {error.name}); "
            f"or decompress it first: {error.name} -d FILE"
        ) from error
    except OSError as error:
        if error.errno is None:
            raise UserError(f"{path}: damaged or truncated compressed file ({error}); download it again") from error
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def _bounded(path: Path) -> Iterator[bytes]:
    archive = archive_of(path)
    total = 0
    with open_regular(archive or path) as file:
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


def archive_of(path: Path) -> Path | None:
    """Return the zip archive that `path` names a file in, as in `dataset.zip/folder/file.csv`; None for other paths."""
    return next((parent for parent in path.parents if parent.suffix == ".zip" and parent.is_file()), None)


@dataclass(frozen=True, slots=True)
class _Codec:
    """`make` returns a decompressor of one stream; `padding` zeros, or a multiple of so many, may follow a stream."""

    magic: bytes
    make: Callable[[], Any]
    padding: int = 0


def _lz4() -> Any:
    import lz4.frame

    return lz4.frame.LZ4FrameDecompressor()


_CODECS = (
    _Codec(b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31), padding=1),
    _Codec(b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_WINDOW), padding=4),
    _Codec(b"BZh", bz2.BZ2Decompressor),
    _Codec(b"\x28\xb5\x2f\xfd", lambda: zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()),
    _Codec(b"\x04\x22\x4d\x18", _lz4),
)
_ZIP, _PARQUET, _FEATHER, _FEATHER_1 = b"PK\x03\x04", b"PAR1", b"ARROW1", b"FEA1"
_MAGIC_BYTES = 8
_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"


def _content(file: BinaryIO, path: Path, member: str | None) -> Iterator[bytes]:
    magic = file.read(_MAGIC_BYTES)
    file.seek(0)
    if member is not None or magic.startswith(_ZIP):
        yield from _in_zip(file, path, member)
    elif magic.startswith((_PARQUET, _FEATHER, _FEATHER_1)):
        yield from _of_columns(file, path, is_parquet=magic.startswith(_PARQUET))
    else:
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


class _ChunkedFile:
    """The chunks as a file that `tarfile` reads, of at most `allowance` bytes: it reads headers of any size at once."""

    def __init__(self, chunks: Iterator[bytes], allowance: int) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")
        self.allowance = allowance

    def read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size and (self._rest or self._refill()):
            missing = size - len(found)
            found += self._rest[:missing]
            self._rest = self._rest[missing:]
        self.allowance -= len(found)
        if self.allowance < 0:
            raise tarfile.TarError("it is too large, or has a header that is")
        return bytes(found)

    def _refill(self) -> bool:
        self._rest = memoryview(next(self._chunks, b""))
        return bool(self._rest)


_MAX_HEADER = 1 << 24


def _members(file: _ChunkedFile) -> Iterator[tuple[str, BinaryIO]]:
    with tarfile.open(fileobj=cast(BinaryIO, file), mode="r|") as archive:
        while (entry := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # else it grows with the archive
            if entry.isfile():
                yield entry.name, cast(BinaryIO, archive.extractfile(entry))


def _only_file(chunks: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """Yield the content of the only file of a tar archive; the chunks themselves if they are none."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) > _TAR_MAGIC_AT + len(_TAR_MAGIC):
            break
    if not head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        yield from filter(None, chain([head], chunks))
        return
    file = _ChunkedFile(chain([head], chunks), _MAX_HEADER)
    only = None
    for name, content in _members(file):
        if only is not None:
            raise UserError(f"{path}: a tar archive of several files, {only} and {name}; extract the one")
        only = name
        while chunk := content.read(_CHUNK):
            yield chunk
            file.allowance = _MAX_HEADER


def _of_columns(file: BinaryIO, path: Path, *, is_parquet: bool) -> Iterator[bytes]:
    """Yield the table as CSV with a header, batch by batch."""
    name = "Parquet" if is_parquet else "Feather"
    try:
        import pyarrow
        from pyarrow import csv, ipc, parquet
    except ImportError:
        raise UserError(
            f"{path}: a {name} file needs the package pyarrow (pip install pyarrow); or write it as CSV with pandas: "
            f"read_{name.lower()}(FILE).to_csv(FILE, index=False)"
        ) from None
    try:
        if is_parquet:
            batches = parquet.ParquetFile(file).iter_batches()
        else:
            reader = ipc.open_file(file)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        for number, batch in enumerate(batches):
            made = pyarrow.BufferOutputStream()
            csv.write_csv(batch, made, csv.WriteOptions(include_header=number == 0))
            yield made.getvalue().to_pybytes()
    except pyarrow.ArrowException as error:
        raise UserError(f"{path}: not read as {name}: {' '.join(str(error).split())[:200]}") from error
