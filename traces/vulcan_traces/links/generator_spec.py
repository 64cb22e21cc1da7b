"""The specifications of generated links: `kind:key=value,key=value`. Rates are in Mbit/s, times in seconds.

    constant   always the same rate                                   rate
    steps      one rate after the other, and again from the first     rates (as 6-24-12), every
    markov     a rate that wanders between states, spaced evenly in its logarithm, staying in each for an
               exponentially distributed time; a step leads to a neighbour or, with the probability `jump`,
               to any state                                           low, high, states, dwell, jump
    outage     a rate that is interrupted: the times between and the lengths of outages are exponentially
               distributed                                            rate, every, length

Every kind also takes `seconds` (after which the link repeats; `steps` repeats after its last rate), `seed` and
`name` (a label, no part of the content).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError, nearest
from vulcan_traces.generator_spec import Key, Value, read_value
from vulcan_traces.links.link_trace import SECOND, LinkTrace, make_link

Pieces = tuple[list[float], list[float]]
"""How long each rate lasts, in seconds, and the rates in Mbit/s."""

Draw = Callable[[np.random.Generator, Mapping[str, Value]], Pieces]

_SPEC = re.compile(r"(?P<kind>[A-Za-z][A-Za-z0-9_-]*):(?P<rest>[^/\\]*)\Z")
_SHORTEST = 1e-3
_MOST_PIECES = 1_000_000


def is_link_spec(text: str) -> bool:
    """Whether the text has the form of a specification, be its kind known or not."""
    match = _SPEC.match(text)
    return match is not None and (match["kind"] in GENERATORS or "=" in match["rest"])


def generate_link(text: str) -> LinkTrace:
    """The link that the specification describes: the same for the same one. Raises UserError where it is wrong."""
    kind, _, rest = text.partition(":")
    if kind not in GENERATORS:
        raise UserError(f"{text}: no generator {kind!r}{nearest(kind, GENERATORS)} (known: {', '.join(GENERATORS)})")
    keys = _COMMON | GENERATORS[kind][0]
    given: dict[str, str] = {}
    for part in rest.split(",") if rest.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        known = ["name", *keys, *(["rates"] if kind == "steps" else [])]
        if key not in known:
            raise UserError(f"{text}: {kind} has no key {key!r}{nearest(key, known)} (known: {', '.join(known)})")
        if not equals or not value:
            raise UserError(f"{text}: {part.strip()!r} is not of the form {key}=value")
        if key in given:
            raise UserError(f"{text}: {key!r} is given twice")
        given[key] = value
    values = {
        key: read_value(text, key, given[key], known) if key in given else known.default for key, known in keys.items()
    }
    if kind == "steps":
        lasting, rates = _steps(text, given.get("rates", "6-24-12"), float(values["every"]))
    else:
        _check_together(text, kind, values)
        rng = np.random.Generator(np.random.PCG64(int(values["seed"])))
        lasting, rates = GENERATORS[kind][1](rng, values)
    ends = np.rint(np.cumsum(lasting) * SECOND).astype(np.int64)
    times = np.append(np.zeros(1, np.int64), ends[:-1])
    return make_link(given.get("name", text), "rates", times, int(ends[-1]), _bits(rates))


def _bits(rates: list[float]) -> NDArray[np.float64]:
    return np.rint(np.array(rates) * 1e6)


def _check_together(text: str, kind: str, values: Mapping[str, Value]) -> None:
    if kind == "markov" and not float(values["low"]) <= float(values["high"]):
        raise UserError(f"{text}: low is above high")
    shortest = {"markov": "dwell", "outage": "every"}.get(kind)
    if shortest is not None and float(values["seconds"]) / float(values[shortest]) > _MOST_PIECES:
        raise UserError(f"{text}: more than {_MOST_PIECES:,} changes; raise {shortest} or shorten seconds")


def _steps(text: str, rates: str, every: float) -> Pieces:
    try:
        found = [float(rate) for rate in rates.split("-")]
    except ValueError:
        found = []
    if not found or not all(math.isfinite(rate) and rate <= _FASTEST for rate in found):
        raise UserError(f"{text}: rates={rates}: rates in Mbit/s are needed, as rates=6-24-12")
    if not any(found):
        raise UserError(f"{text}: every rate is 0")
    return [every] * len(found), found


def _constant(rng: np.random.Generator, values: Mapping[str, Value]) -> Pieces:
    return [float(values["seconds"])], [float(values["rate"])]


def _markov(rng: np.random.Generator, values: Mapping[str, Value]) -> Pieces:
    states, left = int(values["states"]), float(values["seconds"])
    levels = np.geomspace(float(values["low"]), float(values["high"]), states)
    state = int(rng.integers(states))
    lasting: list[float] = []
    rates: list[float] = []
    while left > 0:
        stay = min(left, _SHORTEST + float(rng.exponential(float(values["dwell"]))))
        stay = left if left - stay < _SHORTEST else stay
        lasting.append(stay)
        rates.append(float(levels[state]))
        left -= stay
        if rng.random() < float(values["jump"]):
            state = int(rng.integers(states))
        else:
            up = rng.random() < 0.5
            state = min(state + 1, states - 1) if up else max(state - 1, 0)
    return lasting, rates


def _outage(rng: np.random.Generator, values: Mapping[str, Value]) -> Pieces:
    left = float(values["seconds"])
    lasting: list[float] = []
    rates: list[float] = []
    while left > 0:
        for mean, rate in ((float(values["every"]), float(values["rate"])), (float(values["length"]), 0.0)):
            stay = min(left, _SHORTEST + float(rng.exponential(mean)))
            if stay > 0:
                lasting.append(stay)
                rates.append(rate)
            left = left - stay if left - stay >= _SHORTEST else 0.0
    return lasting, rates


_FASTEST = 1e6
_RATE = Key(12.0, 1e-3, _FASTEST)
_TIME = {"seconds": Key(60.0, 0.1, 1e6), "seed": Key(0, 0, 2**63)}
_COMMON = _TIME

GENERATORS: dict[str, tuple[dict[str, Key], Draw]] = {
    "constant": ({"rate": _RATE}, _constant),
    "steps": ({"every": Key(5.0, _SHORTEST, 1e5)}, _constant),
    "markov": (
        {
            "low": Key(2.0, 1e-3, _FASTEST),
            "high": Key(24.0, 1e-3, _FASTEST),
            "states": Key(8, 1, 1000),
            "dwell": Key(0.5, _SHORTEST, 1e5),
            "jump": Key(0.05, 0.0, 1.0),
        },
        _markov,
    ),
    "outage": ({"rate": _RATE, "every": Key(8.0, _SHORTEST, 1e5), "length": Key(0.5, _SHORTEST, 1e5)}, _outage),
}
"""The keys that each kind has beside the common ones, and how it draws its rates; `steps` has a list besides."""
