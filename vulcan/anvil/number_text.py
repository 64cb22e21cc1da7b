"""Human-readable numbers."""

from __future__ import annotations

_EXTREME = 1e300
_PLAIN_NUMBERS_UP_TO = 1e6


def format_number(value: float) -> str:
    """Format a number for display: 3, 0.5, 123,456,789, 2^40 or 1e+300."""
    if abs(value) >= _EXTREME or not value.is_integer() or abs(value) < _PLAIN_NUMBERS_UP_TO:
        return f"{value:g}"
    exponent = abs(value).as_integer_ratio()[0].bit_length() - 1
    return f"{'-' if value < 0 else ''}2^{exponent}" if abs(value) == 2.0**exponent else f"{value:,.0f}"
