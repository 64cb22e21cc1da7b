"""Fingerprints of the requests to a cache of a given size, updated with each request in bounded memory."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vulcan.baseline_cache import cached_metrics
from vulcan_cache.spec import CacheSpec
from vulcan_traces import Trace

TRACKED = 8192
"""Objects that are remembered at most."""

_ALL = 1 << 32
_GAPS_AN_OCTAVE = 4
_STEADY = 0.1
_MASK = 0xFFFFFFFFFFFFFFFF


def hash_of(key: object) -> int:
    """32 bits that look random, the same for the same key in every process."""
    if type(key) is not int:
        return zlib.crc32(repr(key).encode("utf-8", "surrogatepass"))
    mixed = (key + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 29)) * 0x94D049BB133111EB & _MASK
    return mixed >> 32


class _Recency:
    """A cache that evicts the object untouched (or, with `in_order`, stored) for longest."""

    def __init__(self, in_order: bool) -> None:
        self.misses = 0.0
        self.held: dict[object, int] = {}
        self._used = 0
        self._in_order = in_order

    def request(self, key: object, size: int, weight: float, capacity: float) -> None:
        held = self.held.get(key)
        if held is not None:
            if not self._in_order:
                del self.held[key]
                self.held[key] = held
            return
        self.misses += weight
        if size > capacity:
            return
        self.held[key] = size
        self._used += size
        self.shrink(capacity)

    def shrink(self, capacity: float) -> None:
        while self._used > capacity and len(self.held) > 1:
            self._used -= self.held.pop(next(iter(self.held)))

    def forget(self, keys: set[object]) -> None:
        for key in keys:
            self._used -= self.held.pop(key, 0)


class _Frequency:
    """A cache that evicts the object requested least since it was stored, the longest untouched of equals."""

    def __init__(self) -> None:
        self.misses = 0.0
        self._held: dict[object, tuple[int, int]] = {}  # size, requests
        self._ranks: dict[int, dict[object, None]] = {}
        self._used = 0

    def request(self, key: object, size: int, weight: float, capacity: float) -> None:
        held = self._held.get(key)
        if held is not None:
            self._drop(key)
            self._add(key, held[0], held[1] + 1)
            return
        self.misses += weight
        if size > capacity:
            return
        while self._used + size > capacity and self._held:
            self._evict()
        self._add(key, size, 1)

    def shrink(self, capacity: float) -> None:
        while self._used > capacity and len(self._held) > 1:
            self._evict()

    def forget(self, keys: set[object]) -> None:
        for key in keys:
            if key in self._held:
                self._drop(key)

    def _evict(self) -> None:
        self._drop(next(iter(self._ranks[min(self._ranks)])))

    def _add(self, key: object, size: int, count: int) -> None:
        self._held[key] = (size, count)
        self._ranks.setdefault(count, {})[key] = None
        self._used += size

    def _drop(self, key: object) -> None:
        size, count = self._held.pop(key)
        rank = self._ranks[count]
        del rank[key]
        if not rank:
            del self._ranks[count]
        self._used -= size


class _Probation:
    """A cache that keeps what was requested again: a queue of a tenth for what is new, and a CLOCK for the rest.

    After S3-FIFO (Yang et al., SOSP 2023), with the ghosts left out.
    """

    def __init__(self) -> None:
        self.misses = 0.0
        self._new: dict[object, int] = {}
        self._kept: dict[object, int] = {}
        self._again: set[object] = set()
        self._used = [0, 0]

    def request(self, key: object, size: int, weight: float, capacity: float) -> None:
        if key in self._new or key in self._kept:
            self._again.add(key)
            return
        self.misses += weight
        if size > capacity:
            return
        while self._used[0] + self._used[1] + size > capacity and (self._new or self._kept):
            self._evict(capacity)
        self._new[key] = size
        self._used[0] += size

    def shrink(self, capacity: float) -> None:
        while self._used[0] + self._used[1] > capacity and len(self._new) + len(self._kept) > 1:
            self._evict(capacity)

    def forget(self, keys: set[object]) -> None:
        self._again -= keys
        for key in keys:
            self._used[0] -= self._new.pop(key, 0)
            self._used[1] -= self._kept.pop(key, 0)

    def _evict(self, capacity: float) -> None:
        if self._new and (self._used[0] >= 0.1 * capacity or not self._kept):
            key = next(iter(self._new))
            size = self._new.pop(key)
            self._used[0] -= size
            if key in self._again:
                self._again.discard(key)
                self._kept[key] = size
                self._used[1] += size
            return
        key = next(iter(self._kept))
        size = self._kept.pop(key)
        if key in self._again:
            self._again.discard(key)
            self._kept[key] = size
        else:
            self._used[1] -= size


class OnlineFingerprint:
    """The first requests to a cache of so many bytes; `first` is about how many will be observed.

    At most `tracked` objects are remembered. Where there are more, it goes on with those whose hash is in the lower
    half, and again (SHARDS of fixed size: Waldspurger et al., FAST 2015); what they do then counts twofold, and so on.
    Miss ratios are of caches that are smaller by the same factor (miniature simulation: Waldspurger et al., USENIX ATC
    2017).
    """

    def __init__(self, capacity: float, first: int, tracked: int = TRACKED) -> None:
        self.requests = 0
        self._capacity = float(capacity)
        self._half = first // 2
        self._tracked = tracked
        self._below = _ALL
        self._weight = 1.0
        self._objects: dict[object, list[int]] = {}  # hash, size, requests, latest request, gap before it, first
        self._sampled = self._cold = self._late = self._late_cold = self._carried = 0.0
        self._again = self._steady = 0.0
        self._gaps: dict[int, float] = {}
        self._lru, self._fifo = _Recency(False), _Recency(True)
        self._small, self._large = _Recency(False), _Recency(False)
        self._lfu, self._probation = _Frequency(), _Probation()

    def observe(self, key: object, size: int = 1) -> None:
        """Observe one request, hit or miss."""
        now = self.requests
        self.requests += 1
        hashed = hash_of(key)
        if hashed >= self._below:
            return
        weight = self._weight
        self._sampled += weight
        known = self._objects.get(key)
        late = now >= self._half
        if late:
            self._late += weight
        if known is None:
            self._cold += weight
            if late:
                self._late_cold += weight
            self._objects[key] = [hashed, size, 1, now, 0, now]
        else:
            self._again += weight
            if late and known[5] < self._half:
                self._carried += weight
            gap = now - known[3]
            if known[4] and abs(gap - known[4]) <= _STEADY * known[4]:
                self._steady += weight
            octave = int(math.log2(gap) * _GAPS_AN_OCTAVE)
            self._gaps[octave] = self._gaps.get(octave, 0.0) + weight
            known[2] += 1
            known[3] = now
            known[4] = gap
        capacity = self._capacity / weight
        self._lru.request(key, size, weight, capacity)
        self._fifo.request(key, size, weight, capacity)
        self._small.request(key, size, weight, capacity / 4)
        self._large.request(key, size, weight, capacity * 4)
        self._lfu.request(key, size, weight, capacity)
        self._probation.request(key, size, weight, capacity)
        if len(self._objects) > self._tracked:
            self._halve()

    def _halve(self) -> None:
        """Keep only the objects in the lower half of the hashes."""
        self._below //= 2
        self._weight *= 2.0
        gone = {key for key, known in self._objects.items() if known[0] >= self._below}
        for key in gone:
            del self._objects[key]
        capacity = self._capacity / self._weight
        for cache, factor in (
            (self._lru, 1.0), (self._fifo, 1.0), (self._small, 0.25), (self._large, 4.0), (self._lfu, 1.0),
            (self._probation, 1.0),
        ):  # fmt: skip
            cache.forget(gone)
            cache.shrink(capacity * factor)

    def features(self) -> dict[str, float]:
        """Return the numbers by name, always the same names, all finite; shares are of the requests unless noted.

        `cold_share` are first requests for their object, `late_cold_share` of the second half; `carried_share` is of
        the second half, and for objects seen in the first. `one_hit_share` is of the objects. `top_percent_share` and
        `top_tenth_share` go to the objects requested most. `gap_p*` are quantiles of the requests between two for the
        same object, as log10 of their share of the objects; `steady_share` are those whose gap is like the one before
        (loops). `size_variation` is deviation / mean of the objects' sizes, `size_correlation` that of the logarithms
        of sizes and requests. `room` is log10 of the capacity as a share of all objects' bytes. `lru` is the miss
        ratio of LRU of that capacity; the others are what differs from it: a quarter or four times the capacity, FIFO,
        LFU, and a queue of probation (small S3-FIFO).
        """
        sampled = self._sampled or 1.0
        counts = sorted((known[2] for known in self._objects.values()), reverse=True)
        objects = len(counts) or 1
        total = sum(counts) or 1
        footprint = sum(known[1] for known in self._objects.values()) * self._weight or 1.0
        lru = self._lru.misses / sampled
        gaps = [self._gap(share, objects * self._weight) for share in (0.1, 0.5, 0.9)]
        return {
            "cold_share": self._cold / sampled,
            "late_cold_share": self._late_cold / (self._late or 1.0),
            "carried_share": self._carried / (self._late or 1.0),
            "one_hit_share": sum(count == 1 for count in counts) / objects,
            "top_percent_share": sum(counts[: max(1, objects // 100)]) / total,
            "top_tenth_share": sum(counts[: max(1, objects // 10)]) / total,
            "gap_p10": gaps[0],
            "gap_p50": gaps[1],
            "gap_p90": gaps[2],
            "steady_share": self._steady / sampled,
            "size_variation": self._size_variation(),
            "size_correlation": self._size_correlation(),
            "room": math.log10(min(10.0, max(1e-6, self._capacity / footprint))),
            "lru": lru,
            "lru_quarter": self._small.misses / sampled - lru,
            "lru_fourfold": self._large.misses / sampled - lru,
            "fifo": self._fifo.misses / sampled - lru,
            "lfu": self._lfu.misses / sampled - lru,
            "probation": self._probation.misses / sampled - lru,
        }

    def _gap(self, share: float, objects: float) -> float:
        """Return a quantile of the gaps; as long as there are objects where nothing came again."""
        below, wanted = 0.0, share * self._again
        for octave in sorted(self._gaps):
            below += self._gaps[octave]
            if below >= wanted:
                return math.log10(2.0 ** ((octave + 0.5) / _GAPS_AN_OCTAVE) / objects)
        return 0.0

    def _size_variation(self) -> float:
        sizes = [known[1] for known in self._objects.values()] or [1]
        mean = sum(sizes) / len(sizes)
        return math.sqrt(sum((size - mean) ** 2 for size in sizes) / len(sizes)) / mean if mean else 0.0

    def _size_correlation(self) -> float:
        pairs = [(math.log(max(1, known[1])), math.log(known[2])) for known in self._objects.values()]
        count = len(pairs) or 1
        mean_x, mean_y = sum(x for x, _ in pairs) / count, sum(y for _, y in pairs) / count
        xy = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
        xx = sum((x - mean_x) ** 2 for x, _ in pairs)
        yy = sum((y - mean_y) ** 2 for _, y in pairs)
        return xy / math.sqrt(xx * yy) if xx > 1e-9 and yy > 1e-9 else 0.0


VERSION = 1
"""Version in the cache key of fingerprints: raise it when the same requests give another fingerprint."""


def fingerprint_of(spec: CacheSpec, trace: Trace, sizes: NDArray[np.int64], first: int) -> Mapping[str, float]:
    """Return the fingerprint of an instance's first requests, cached on disk; `sizes` are those that count."""
    requests = min(first, spec.measure_to)

    def measure() -> dict[str, float]:
        seen = OnlineFingerprint(spec.capacity, requests)
        keys = np.asarray(trace.keys)[np.asarray(trace.objects)[:requests]]
        for key, size in zip(keys.tolist(), np.asarray(sizes)[:requests].tolist(), strict=True):
            seen.observe(key, size)
        return seen.features()

    return cached_metrics(["fingerprint", VERSION, trace.digest, spec.unit_sizes, spec.capacity, requests], measure)


OPENING_SHARE = 0.2
"""The largest cache of an opening, as a share of the bytes that it asks for.

A cache that is 10 % of a whole trace may hold all that a fifth of it asks for: then no policy evicts anything, and
trials cannot tell policies apart. Of 2, 5, 10, 20 and 30 % it chose best on training traces, each left out in turn.
"""


def opening_of(spec: CacheSpec, trace: Trace, sizes: NDArray[np.int64], first: int) -> dict[str, int]:
    """Return what an opening changes; the first half of its requests fills the cache, and does not count."""
    requests = min(first, spec.measure_to)
    _, at = np.unique(np.asarray(trace.objects)[:requests], return_index=True)
    footprint = int(np.asarray(sizes)[at].sum(dtype=np.int64))
    capacity = min(spec.capacity, max(1, int(OPENING_SHARE * footprint)))
    return {"capacity": capacity, "measure_from": requests // 2, "measure_to": requests}
