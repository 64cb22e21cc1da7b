"""Fingerprint as a JSON document and as text."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

from vulcan_traces.documents import FingerprintDocument
from vulcan_traces.fingerprint.fingerprint import QUANTILES, STATISTICS, Distribution, Fingerprint

_WIDTH = 120


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
