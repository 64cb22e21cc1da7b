"""A large trace file, written block by block: oracleGeneral, 24 bytes per request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_BLOCK = 1 << 20
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_A_SECOND = 10_000


def write_large_trace(path: Path, requests: int, objects: int, *, alpha: float = 0.9, seed: int = 1) -> None:
    """Requests of a Zipf-like popularity over `objects` ids, log-uniform sizes from 256 bytes to 64 KiB by the id.

    The rank is drawn by inverting the continuous distribution of density x^-alpha from 1 to `objects` + 1. The next
    access is written as unknown: readers compute it.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    with path.open("wb") as file:
        for start in range(0, requests, _BLOCK):
            count = min(_BLOCK, requests - start)
            ids = _ranks(random.random(count), objects, alpha).astype(np.uint64) * _SCATTER
            records = np.empty(count, RECORD)
            records["time"] = np.arange(start, start + count) // _A_SECOND
            records["id"] = ids
            records["size"] = np.exp2(8 + (ids >> np.uint64(40)).astype(np.float64) / 2**21)
            records["next"] = -1
            records.tofile(file)


def _ranks(uniform: npt.NDArray[np.float64], objects: int, alpha: float) -> npt.NDArray[np.float64]:
    power = 1 - alpha
    return np.floor((1 + uniform * ((objects + 1) ** power - 1)) ** (1 / power))
