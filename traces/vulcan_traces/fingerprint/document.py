"""Fingerprint as a JSON document and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from textwrap import wrap
from typing import Any

from vulcan_traces.documents import FingerprintDocument
from vulcan_traces.fingerprint.fingerprint import QUANTILES, SHARES, STATISTICS, Curve, Distribution, Fingerprint

_WIDTH = 120


def document(found: Fingerprint) -> FingerprintDocument:
    """Return every statistic with its value, unit and meaning, and the vector by name; ready for JSON."""
    return {
        "statistics": {
            name: {"value": _plain(getattr(found, name)), "unit": unit, "meaning": meaning}
            for name, (unit, meaning) in STATISTICS.items()
        },
        "quantiles": list(QUANTILES),
        "capacity_shares": list(SHARES),
        "vector": found.features(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Distribution):
        quantiles = list(value.quantiles)
        octaves = [{"from": low, "to": high, "share": share} for low, high, share in value.octaves]
        return {"count": value.count, "quantiles": quantiles, "octaves": octaves}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: list(each) if isinstance(each, tuple) else each for name, each in asdict(value).items()}
    return value


def summary(found: Fingerprint) -> list[str]:
    """Return lines for a terminal: a statistic, its value and unit, and below it its meaning."""
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
        lines.append(f"{each.name:20} {shown}")
        lines += [" " * 21 + line for line in wrap(meaning, _WIDTH - 21)]
    how = "exact" if found.sample_rate == 1 else f"on a sample of {found.sample_rate:.2%} of the objects"
    lines += ["", f"miss ratios, {how}: share of requests, and of bytes, that a cache of that capacity misses"]
    return lines + _curve_lines(found.curves)


def _number(value: float) -> str:
    if isinstance(value, int) or (abs(value) >= 1000 and float(value).is_integer()):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4f}"


def _distribution_line(value: Distribution, unit: str) -> str:
    if not value.count:
        return "none"
    cells = (f"p{share * 100:g} {_number(round(q))}" for share, q in zip(QUANTILES, value.quantiles, strict=True))
    return f"{'  '.join(cells)} {unit}"


def _windows_line(found: Fingerprint) -> str:
    objects = [window.objects for window in found.windows]
    middle = sorted(objects)[len(objects) // 2]
    return (
        f"{len(objects)} windows of {found.windows[0].requests:,} requests: "
        f"{min(objects):,} to {max(objects):,} objects, median {middle:,}"
    )


def _curve_lines(curves: Sequence[Curve]) -> list[str]:
    names = [f"{curve.policy} {curve.unit}" for curve in curves]
    lines = [f"{'of the footprint':>16}  " + "  ".join(f"{name:>15}" for name in names)]
    for k, share in enumerate(SHARES):
        cells = (f"{curve.miss_ratios[k]:.4f} {curve.byte_miss_ratios[k]:.4f}" for curve in curves)
        lines.append(f"{share:>16.2%}  " + "  ".join(f"{cell:>15}" for cell in cells))
    return lines
