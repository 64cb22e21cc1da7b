"""Gives every reader of what a user names what is no plain file, or far larger inside than out, in bounded memory.

`python tests/fuzz/hostile_files.py DIRECTORY [--short]` writes the files there, and prints what was not refused in one
line.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import signal
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from vulcan import zstd
from vulcan.anvil import Rejected, check
from vulcan.errors import UserError
from vulcan.inputs import read_policy_file
from vulcan.paths import keep_compiled_kernels_in_cache
from vulcan.registry import find_task
from vulcan.searches.config import read_config
from vulcan_traces import load_trace
from vulcan_traces.links import load_link
from vulcan_traces.memory import load_page_counts
from vulcan_traces.memory.recordings import read_recording
from vulcan_traces.prompts import load_prompts
from vulcan_traces.spot import load_spot

SECONDS = 60
MB = 1 << 20


def trace_in(format: str) -> Callable[[Path], object]:
    return lambda path: load_trace(path, format=format)


def policy(path: Path) -> object:
    try:
        return check(read_policy_file(path), find_task("cache_eviction"))
    except Rejected as error:
        raise UserError("rejected") from error


READERS: dict[str, Callable[[Path], object]] = {
    "trace": load_trace,
    "trace, txt": trace_in("txt"),
    "link": load_link,
    "prompts": load_prompts,
    "page counts": load_page_counts,
    "recording": lambda path: read_recording(path, epoch_seconds=1.0, page_size=4096),
    "spot": lambda path: load_spot(str(path)),
    "spot in an archive": lambda path: load_spot(f"{path}:folder"),
    "policy": policy,
    "configuration": read_config,
}


PACKED, LINE, LINES, ROWS, MEMORY = (
    (("zst",), b"1" * 15 + b"\n", 36 * MB, 18 * MB, 13 * 10**8)
    if "--short" in sys.argv
    else (("gz", "bz2", "xz", "zst"), b"1\n", 150 * MB, 128 * MB, 2 * 10**9)
)
"""In the short form too each goes beyond a bound: 64 MiB, the memory for columns of so many lines, the rows of page
counts."""


def packed(chunk: bytes, name: str) -> bytes:
    """The chunk again and again, 512 MB of it, as streams that follow one another."""
    whole = chunk * (64 * MB // len(chunk))
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}[name]
    return pack(whole) * 8


def files(directory: Path) -> Iterator[Path]:
    """Write the hostile files, and yield each."""
    os.mkfifo(directory / "fifo")
    (directory / "folder.json").mkdir()
    yield from (directory / "fifo", directory / "folder.json", Path("/dev/zero"), Path("/dev/tty"), Path("a\0b"))
    for name in PACKED:
        for what, chunk in (("zeros", bytes(MB)), ("ones", LINE * MB)):
            path = directory / f"{what}.tar.{name}"  # as an archive it is none
            path.write_bytes(packed(chunk, name))
            yield path
    with zipfile.ZipFile(directory / "ones.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("ones", b"1\n" * LINES)
    yield directory / "ones.zip"
    with zipfile.ZipFile(directory / "rows.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for column in ("epoch", "page", "loads", "stores"):
            with archive.open(f"{column}.npy", "w", force_zip64=True) as file:
                head = io.BytesIO()
                shape = {"descr": "<i8", "fortran_order": False, "shape": (ROWS,)}
                np.lib.format.write_array_header_1_0(head, shape)
                file.write(head.getvalue())
                for _ in range(8 * ROWS // (4 * MB)):
                    file.write(bytes(4 * MB))
    yield directory / "rows.npz"
    for name, size in (("member", 300 * MB), ("header", 300 * MB)):
        entry = tarfile.TarInfo("folder/a.json")
        entry.size = size
        entry.type = tarfile.REGTYPE if name == "member" else tarfile.XHDTYPE
        path = directory / f"{name}.tar.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(entry.tobuf(tarfile.GNU_FORMAT))
            for _ in range(size // MB):
                file.write(b"0, 1" * (MB // 4))
        yield path
    (directory / "digits").write_text("1.5: 9: mem-loads:  12\n1.5: " + "9" * 5000 + ": mem-loads:  12\n")
    yield directory / "digits"


def _too_slow(_number: int, _frame: object) -> None:
    raise TimeoutError(f"it took over {SECONDS} s")


def main(directory: Path) -> int:
    found = 0
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    paths = list(files(directory))
    for path in paths:
        for name, read in READERS.items():
            signal.alarm(SECONDS)
            try:
                read(path)
                said = "it was read"
            except UserError as error:
                said = "" if "\n" not in str(error) else f"more than a line: {error}"
            except Exception as error:  # noqa: BLE001 (any other exception is what is looked for)
                said = f"{type(error).__name__}: {error}"
            if said:
                found += 1
                print(f"{name}, {path.name}: {said}", flush=True)
    print(f"{len(paths) * len(READERS)} tried, {found} found")
    return 1 if found else 0


if __name__ == "__main__":
    keep_compiled_kernels_in_cache()
    with tempfile.TemporaryDirectory(prefix="vulcan-hostile-") as cache:
        os.environ["VULCAN_CACHE_DIR"] = cache
        sys.exit(main(Path(sys.argv[1])))
