"""Fingerprint as a JSON document and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import numpy as np

from vulcan_traces.documents import FingerprintDocument
from vulcan_traces.fingerprint.fingerprint import QUANTILES, SHARES, STATISTICS, Curve, Distribution, Fingerprint
from vulcan_traces.fingerprint.log_histogram import buckets_of, lower_edges

_WIDTH = 120
_LOWER = lower_edges()
_EXACT_BELOW = 16


def document(found: Fingerprint) -> FingerprintDocument:
    """Return every statistic with its value, unit and meaning; ready for JSON."""
    return {
        "statistics": {
            name: {"value": _plain(getattr(found, name)), "unit": unit, "meaning": meaning}
            for name, (unit, meaning) in STATISTICS.items()
        },
        "quantiles": list(QUANTILES),
        "capacity_shares": list(SHARES),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Distribution):
        quantiles = list(map(shown_quantile, value.quantiles))
        octaves = [{"from": low, "to": high, "share": share} for low, high, share in value.octaves]
        return {"count": value.count, "quantiles": quantiles, "octaves": octaves}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: list(each) if isinstance(each, tuple) else each for name, each in asdict(value).items()}
    return value


def shown_quantile(middle: float) -> float:
    """Return the lower edge of the histogram bucket of a quantile.

    So no percentile exceeds the largest number there is, and round numbers are shown as they are; it is up to 1/16 less
    than the true one, and exact below 16.
    """
    return float(_LOWER[buckets_of(np.array([middle]))[0]])


def summary(found: Fingerprint) -> list[str]:
    """Return lines for a terminal: a statistic, its value and unit, and below it its meaning."""
    width = max(60, min(_WIDTH, get_terminal_size((_WIDTH, 24)).columns))
    lines = []
    for each in fields(Fingerprint):
        unit, meaning = STATISTICS[each.name]
        value = getattr(found, each.name)
        if each.name == "windows":
            shown = _windows_line(found)
        elif each.name == "curves":
            continue
        elif isinstance(value, Distribution):
            shown = _distribution_line(value, unit)
        else:
            shown = "not defined" if value is None else f"{_number(value)} {unit}".rstrip()
        first, *more = [*wrap(shown, width - 21), *wrap(meaning, width - 21)]
        lines += [f"{each.name:20} {first}", *(" " * 21 + line for line in more)]
    lines += ["", "~ marks percentiles rounded down, by up to 1/16"]
    how = "exact" if found.sample_rate == 1 else f"on a sample of {found.sample_rate:.2%} of the objects"
    heading = f"miss ratios of LRU, {how}: share of requests, and of bytes, that a cache of that capacity misses"
    lines += ["", *wrap(heading, width)]
    return lines + _curve_lines(found.curves)


def _number(value: float) -> str:
    if isinstance(value, int) or (abs(value) >= 1000 and float(value).is_integer()):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4f}"


def _distribution_line(value: Distribution, unit: str) -> str:
    if not value.count:
        return "none"
    scale, unit = (1e6, "seconds") if unit == "microseconds" else (1.0, unit)
    cells = (
        f"p{share * 100:g} {_approximate(shown_quantile(middle), scale)}"
        for share, middle in zip(QUANTILES, value.quantiles, strict=True)
    )
    return f"{'  '.join(cells)} {unit}"


def _approximate(quantile: float, scale: float) -> str:
    """Return a quantile, in another unit, marked with ~ where its histogram has a range of numbers."""
    mark = "" if quantile < _EXACT_BELOW else "~"
    return f"{mark}{_number(int(quantile))}" if scale == 1.0 else f"{mark}{quantile / scale:,.6g}"


def _windows_line(found: Fingerprint) -> str:
    objects = [window.objects for window in found.windows]
    middle = sorted(objects)[len(objects) // 2]
    return (
        f"{len(objects)} windows of {found.windows[0].requests:,} requests: "
        f"{min(objects):,} to {max(objects):,} objects, median {middle:,}"
    )


def _curve_lines(curves: Sequence[Curve]) -> list[str]:
    names = [f"by {curve.unit}" for curve in curves]
    lines = [
        " " * 11 + "  ".join(f"{name:>15}" for name in names),
        f"{'footprint':>9}  " + "  ".join([f"{'requests':>8} {'bytes':>6}"] * len(names)),
    ]
    for k, share in enumerate(SHARES):
        cells = (f"{curve.miss_ratios[k]:8.4f} {curve.byte_miss_ratios[k]:.4f}" for curve in curves)
        lines.append(f"{share:>9.2%}  " + "  ".join(cells))
    return lines
