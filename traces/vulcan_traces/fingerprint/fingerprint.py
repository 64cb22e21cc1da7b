"""Fingerprint of a trace: statistics to read, as a JSON document and as text."""

from __future__ import annotations

from dataclasses import dataclass
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any, get_type_hints

from vulcan_traces.documents import FingerprintDocument

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Which quantiles of a distribution are given."""

_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of whole numbers.

    `quantiles` are those of QUANTILES; empty where `count`, how many numbers there are, is 0. `octaves` are (from, to,
    share of the numbers), for every octave that has any: [0, 0], [1, 1], [2, 3], [4, 7], ...
    """

    count: int
    quantiles: tuple[int, ...]
    octaves: tuple[tuple[int, int, float], ...]

    def quantile(self, share: float) -> int | None:
        """Return one of QUANTILES, None where there are no numbers."""
        return self.quantiles[QUANTILES.index(share)] if self.quantiles else None


Share = Annotated[float, "share of requests"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The statistics of a trace, or of its first requests, each with its unit and meaning.

    What is None is not defined for this trace: times without a clock, a correlation of what does not vary.
    """

    requests: Annotated[int, "requests", "requests that were read"]
    objects: Annotated[int, "objects", "different objects among them"]
    footprint: Annotated[int, "bytes", "all objects together, each with the size of its first request"]
    requested_bytes: Annotated[int, "bytes", "the sizes of all requests added up"]
    duration: Annotated[float | None, "seconds", "from the first request to the last; none without a clock"]
    request_rate: Annotated[float | None, "requests/second", "requests / duration"]
    cold_share: Annotated[Share, "the first for their object: no cache without prefetching hits them"]
    one_hit_share: Annotated[float, "share of objects", "requested exactly once"]
    zipf_exponent: Annotated[
        float,
        "",
        "popularity skew: the maximum-likelihood exponent of a Zipf law over the objects ranked by their requests",
    ]
    top_percent_share: Annotated[Share, "those for the 1 % of objects (at least one) requested most"]
    top_tenth_share: Annotated[Share, "those for the 10 % of objects (at least one) requested most"]
    reuse_distances: Annotated[
        Distribution, "objects", "reuse distance: different other objects between two requests for the same one"
    ]
    object_sizes: Annotated[Distribution, "bytes", "sizes of objects, each that of its first request"]
    size_mean: Annotated[float, "bytes", "mean size of an object"]
    size_variation: Annotated[float, "", "standard deviation of the sizes of objects / their mean"]
    size_correlation: Annotated[
        float | None,
        "-1 to 1",
        "Spearman's rank correlation of size and requests over objects; above 0: large ones are popular",
    ]
    late_cold_share: Annotated[Share, "first for their object, in the second half of the trace"]
    sequence_share: Annotated[
        Share,
        "in runs of 32 or more whose ids run on: by 1, by the size before, or by the size before in 512-byte sectors",
    ]
    scan_share: Annotated[Share, "in runs of 32 or more for objects never requested before"]
    loop_share: Annotated[
        Share,
        "in runs of 32 or more that repeat an earlier passage in its order: all come equally long, and at least 32 "
        "requests, after the request before for the same object",
    ]
    drift: Annotated[
        float,
        "0 to 1",
        "how much popularity changes from one eighth of the trace to the next: 1 - Morisita's overlap, mean; "
        "0: drawn from one law, 1: no common objects",
    ]
    drift_from_start: Annotated[float, "0 to 1", "the same from the first eighth to the last"]
    sample_rate: Annotated[
        float, "share of objects", "that reuse distances are measured on, by a hash of the id (SHARDS); 1: exact"
    ]


STATISTICS: dict[str, tuple[str, str]] = {
    name: hint.__metadata__ for name, hint in get_type_hints(Fingerprint, include_extras=True).items()
}
"""Unit and meaning of every field."""


def document(found: Fingerprint) -> FingerprintDocument:
    """Return every statistic with its value, unit and meaning; ready for JSON."""
    return {
        "statistics": {
            name: {"value": _plain(getattr(found, name)), "unit": unit, "meaning": meaning}
            for name, (unit, meaning) in STATISTICS.items()
        },
        "quantiles": list(QUANTILES),
    }


def _plain(value: Any) -> Any:
    if not isinstance(value, Distribution):
        return value
    octaves = [{"from": low, "to": high, "share": share} for low, high, share in value.octaves]
    return {"count": value.count, "quantiles": list(value.quantiles), "octaves": octaves}


def summary(found: Fingerprint) -> list[str]:
    """Return lines for a terminal: a statistic, its value and unit, and below it its meaning."""
    width = max(60, min(_WIDTH, get_terminal_size((_WIDTH, 24)).columns))
    lines = []
    for name, (unit, meaning) in STATISTICS.items():
        value = getattr(found, name)
        if isinstance(value, Distribution):
            shown = _distribution_line(value, unit, "~" if name == "reuse_distances" and found.sample_rate < 1 else "")
        else:
            shown = "not defined" if value is None else f"{_number(value)} {unit}".rstrip()
        first, *more = [*wrap(shown, width - 21), *wrap(meaning, width - 21)]
        lines += [f"{name:20} {first}", *(" " * 21 + line for line in more)]
    return lines


def _number(value: float) -> str:
    if isinstance(value, int) or (abs(value) >= 1000 and float(value).is_integer()):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4f}"


def _distribution_line(value: Distribution, unit: str, mark: str) -> str:
    if not value.count:
        return "none"
    cells = (f"p{share * 100:g} {mark}{number:,}" for share, number in zip(QUANTILES, value.quantiles, strict=True))
    return f"{'  '.join(cells)} {unit}"
