"""Fingerprint of a trace: statistics to read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Which quantiles of a distribution are given."""

SHARES = (0.001, 0.0016, 0.0025, 0.004, 0.0063, 0.01, 0.016, 0.025, 0.04, 0.063, 0.1, 0.16, 0.25, 0.4, 0.63, 1.0)
"""The capacities of miss-ratio curves, as shares of the footprint: five a decade, evenly on a logarithmic scale."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of whole numbers.

    `quantiles` are those of QUANTILES, exact below 16 and else within 1/32; empty where `count`, how many numbers
    there are, is 0. `octaves` are (from, to, share of the numbers), for every octave that has any.
    """

    count: int
    quantiles: tuple[float, ...]
    octaves: tuple[tuple[int, int, float], ...]

    def quantile(self, share: float) -> float | None:
        """Return one of QUANTILES, None where there are no numbers."""
        return self.quantiles[QUANTILES.index(share)] if self.quantiles else None


@dataclass(frozen=True, slots=True)
class Curve:
    """Miss-ratio curve of LRU, from an empty cache, at the capacities SHARES.

    `unit` is what `capacities` count: `objects`, each of size 1, or `bytes`. `miss_ratios` are misses / requests,
    `byte_miss_ratios` missed bytes / requested bytes. All of length 16.
    """

    unit: str
    capacities: tuple[int, ...]
    miss_ratios: tuple[float, ...]
    byte_miss_ratios: tuple[float, ...]

    def at(self, share: float) -> float:
        """Return the miss ratio at one of SHARES."""
        return self.miss_ratios[SHARES.index(share)]


@dataclass(frozen=True, slots=True)
class Window:
    """One of up to 64 stretches of a trace of equal length: its first request's index, its requests, the different
    `objects` among them and the `bytes` of these, the `new_objects` that were never requested before, and all
    `requested_bytes`."""

    start: int
    requests: int
    objects: int
    new_objects: int
    bytes: int
    requested_bytes: int


def _of(unit: str, *meaning: str) -> dict[str, str]:
    return {"unit": unit, "meaning": " ".join(meaning)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The statistics of a trace, or of its first requests. Each field's unit and meaning are in `STATISTICS`.

    What is None is not defined for this trace: times without a clock, a correlation of what does not vary.
    """

    requests: int = field(metadata=_of("requests", "requests that were read"))
    objects: int = field(metadata=_of("objects", "different objects among them"))
    footprint: int = field(metadata=_of("bytes", "all objects together, each with the size of its first request"))
    requested_bytes: int = field(metadata=_of("bytes", "the sizes of all requests added up"))
    duration: float | None = field(metadata=_of("seconds", "from the first request to the last; none without a clock"))
    request_rate: float | None = field(metadata=_of("requests/second", "requests / duration"))
    cold_share: float = field(
        metadata=_of("share of requests", "the first for their object: no cache without prefetching hits them")
    )
    one_hit_share: float = field(metadata=_of("share of objects", "requested exactly once"))
    zipf_exponent: float = field(
        metadata=_of(
            "",
            "popularity skew: the maximum-likelihood exponent of a Zipf law over the objects ranked by their requests",
        )
    )
    zipf_misfit: float = field(
        metadata=_of(
            "share of requests", "how far that law is off: the largest difference of the cumulative shares (Kolmogorov)"
        )
    )
    top_percent_share: float = field(
        metadata=_of("share of requests", "those for the 1 % of objects (at least one) requested most")
    )
    top_tenth_share: float = field(
        metadata=_of("share of requests", "those for the 10 % of objects (at least one) requested most")
    )
    gaps: Distribution = field(
        metadata=_of("requests", "inter-arrival: from a request to the next one for the same object")
    )
    time_gaps: Distribution | None = field(metadata=_of("microseconds", "inter-arrival in time, none without a clock"))
    reuse_distances: Distribution = field(
        metadata=_of("objects", "reuse distance: different other objects between two requests for the same one")
    )
    object_sizes: Distribution = field(metadata=_of("bytes", "sizes of objects, each that of its first request"))
    size_mean: float = field(metadata=_of("bytes", "mean size of an object"))
    size_variation: float = field(metadata=_of("", "standard deviation of the sizes of objects / their mean"))
    size_correlation: float | None = field(
        metadata=_of(
            "-1 to 1", "Spearman's rank correlation of size and requests over objects; above 0: large ones are popular"
        )
    )
    size_change_share: float = field(
        metadata=_of("share of requests", "whose size differs from that of the object's request before")
    )
    windows: tuple[Window, ...] = field(
        metadata=_of("", "working set over time: different objects in 64 windows of equal length")
    )
    working_set_share: float = field(
        metadata=_of("objects/request", "different objects in a window / requests in it, mean over the windows")
    )
    late_cold_share: float = field(
        metadata=_of("share of requests", "first for their object, in the second half of the trace")
    )
    sequence_share: float = field(
        metadata=_of(
            "share of requests",
            "in runs of 32 or more whose ids run on:",
            "by 1, by the size before, or by the size before in 512-byte sectors",
        )
    )
    scan_share: float = field(
        metadata=_of("share of requests", "in runs of 32 or more for objects never requested before")
    )
    loop_share: float = field(
        metadata=_of(
            "share of requests",
            "in runs of 32 or more that repeat an earlier passage in its order: all come equally long, and at least 32 "
            "requests, after the request before for the same object",
        )
    )
    drift: float = field(
        metadata=_of(
            "0 to 1",
            "how much popularity changes from one eighth of the trace to the next: 1 - Morisita's overlap, mean; "
            "0: drawn from one law, 1: no common objects",
        )
    )
    drift_from_start: float = field(metadata=_of("0 to 1", "the same from the first eighth to the last"))
    sample_rate: float = field(
        metadata=_of(
            "share of objects",
            "that reuse distances and curves are measured on, by a hash of the id (SHARDS); 1: exact",
        )
    )
    curves: tuple[Curve, ...] = field(metadata=_of("", "miss-ratio curves of LRU, in objects and in bytes"))

    def curve(self, unit: str) -> Curve:
        """Return the curve for capacities in `objects` or `bytes`."""
        return next(curve for curve in self.curves if curve.unit == unit)


STATISTICS = {each.name: (str(each.metadata["unit"]), str(each.metadata["meaning"])) for each in fields(Fingerprint)}
"""Unit and meaning of every field."""
