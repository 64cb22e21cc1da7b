"""Fingerprint as a JSON document and as text."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import numpy as np

from vulcan_traces.documents import FingerprintDocument
from vulcan_traces.fingerprint.fingerprint import QUANTILES, STATISTICS, Distribution, Fingerprint
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
    }


def _plain(value: Any) -> Any:
    if not isinstance(value, Distribution):
        return value
    octaves = [{"from": low, "to": high, "share": share} for low, high, share in value.octaves]
    return {"count": value.count, "quantiles": list(map(shown_quantile, value.quantiles)), "octaves": octaves}


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
    for name, (unit, meaning) in STATISTICS.items():
        value = getattr(found, name)
        if isinstance(value, Distribution):
            shown = _distribution_line(value, unit)
        else:
            shown = "not defined" if value is None else f"{_number(value)} {unit}".rstrip()
        first, *more = [*wrap(shown, width - 21), *wrap(meaning, width - 21)]
        lines += [f"{name:20} {first}", *(" " * 21 + line for line in more)]
    return [*lines, "", "~ marks percentiles rounded down, by up to 1/16"]


def _number(value: float) -> str:
    if isinstance(value, int) or (abs(value) >= 1000 and float(value).is_integer()):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4f}"


def _distribution_line(value: Distribution, unit: str) -> str:
    if not value.count:
        return "none"
    cells = []
    for share, middle in zip(QUANTILES, value.quantiles, strict=True):
        quantile = shown_quantile(middle)
        cells.append(f"p{share * 100:g} {'' if quantile < _EXACT_BELOW else '~'}{_number(int(quantile))}")
    return f"{'  '.join(cells)} {unit}"
