"""References for a policy on an instance: the misses of an oracle and of the best baseline."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.files import write_cache
from vulcan.paths import cache_directory
from vulcan.task import Json
from vulcan_cache.baselines import BASELINES, CacheBaseline

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Names of the oracle and of the best baseline, with their misses: arrays of shape (requests,), 1 at each."""

    oracle: str
    oracle_missed: NDArray[np.uint8]
    baseline: str
    baseline_missed: NDArray[np.uint8]


def oracle_for(sizes: NDArray[np.int64]) -> CacheBaseline:
    """Return the oracle for objects of these sizes: Belady's where all are the same."""
    uniform = bool(len(sizes)) and bool((sizes == sizes[0]).all())
    return BASELINES["belady" if uniform else "belady-size-sampled"]


def cached_misses(identity: list[Json], requests: int, run: Callable[[NDArray[np.uint8]], object]) -> NDArray[np.uint8]:
    """Return the misses from the disk cache, calling `run` to fill an array of `requests` zeros where it has none."""
    name = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    path = cache_directory("misses") / f"{name}.npy"
    try:
        packed = np.load(path)
        if packed.dtype == np.uint8 and packed.shape == ((requests + 7) // 8,):
            return np.unpackbits(packed, count=requests)
        log.warning("%s is not as it was written and is computed again", path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        log.warning("%s cannot be used and is computed again: %s", path, error)
    missed = np.zeros(requests, np.uint8)
    run(missed)
    content = io.BytesIO()
    np.save(content, np.packbits(missed))
    write_cache(path, content.getvalue())
    return missed
