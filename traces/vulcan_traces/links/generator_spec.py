"""Specifications of generated links: `kind:key=value,key=value`. Rates are in Mbit/s, times in seconds.

    constant   always the same rate                                   rate
    steps      one rate after the other, and again from the first     rates (as 6-24-12), every
    markov     a rate that wanders between states, spaced evenly in its logarithm, staying in each for an
               exponentially distributed time; a step leads to a neighbour or, with the probability `jump`,
               to any state                                           low, high, states, dwell, jump
    outage     a rate that is interrupted: the times between and the lengths of outages are exponentially
               distributed                                            rate, every, length

Every kind also takes `seconds` (after which the link repeats; `steps` repeats after its last rate), `slot` (seconds:
what a slot carries is delivered at its end, in whole packets; 0 spreads it), `seed` and `name` (a label, no part of the
content).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.links.link_trace import OPPORTUNITY_BYTES, SECOND, LinkTrace, make_link
from vulcan_traces.synthetic.specification import Key, Values, is_specification, number, parse_keys, parse_kind, whole

Pieces = tuple[list[float], list[float]]
"""Duration of each rate, in seconds, and the rates in Mbit/s."""

Draw = Callable[[np.random.Generator, Values], Pieces]

_MIN = 1e-3
_MAX_PIECES = 1_000_000
_MAX_PACKETS = 100_000_000
_PACKET_BITS = 8 * OPPORTUNITY_BYTES


def is_link_spec(text: str) -> bool:
    """Check whether the text has the form of a specification, be its kind known or not."""
    return is_specification(text, GENERATORS)


def generate_link(text: str) -> LinkTrace:
    """Generate the link that the specification describes, deterministically. Raises UserError if it is invalid."""
    kind = parse_kind(text, GENERATORS)
    parsed = parse_keys(text, _COMMON | GENERATORS[kind][0])
    values = parsed.values
    _check_together(text, kind, values)
    rng = np.random.Generator(np.random.PCG64(whole(values, "seed")))
    lasting, rates = GENERATORS[kind][1](rng, values)
    ends = np.rint(np.cumsum(lasting) * SECOND).astype(np.int64)
    times = np.append(np.zeros(1, np.int64), ends[:-1])
    link = make_link(parsed.name, "rates", times, int(ends[-1]), np.rint(np.array(rates) * 1e6))
    return _in_slots(text, link, number(values, "slot")) if values["slot"] else link


def _in_slots(text: str, link: LinkTrace, slot: float) -> LinkTrace:
    """Return the link as one that delivers whole packets at the ends of slots, as radio frames and schedulers do."""
    if link.seconds / slot > _MAX_PIECES or link.bits / _PACKET_BITS > _MAX_PACKETS:
        raise UserError(f"{text}: over {_MAX_PIECES:,} slots or {_MAX_PACKETS:,} packets; shorten seconds")
    ends = np.append(np.arange(slot, link.seconds * (1 - 1e-9), slot), link.seconds) * SECOND
    knots = np.append(link.times, link.period)
    sent = np.append(0.0, np.cumsum(np.diff(knots) * link.rates)) / SECOND
    packets = np.floor(np.interp(ends, knots, sent) / _PACKET_BITS + 1e-6).astype(np.int64)
    if not packets[-1]:
        raise UserError(f"{text}: less than one packet; raise the rate or seconds")
    times = np.repeat(np.rint(ends).astype(np.int64), np.diff(packets, prepend=0))
    return make_link(link.name, "opportunities", times, link.period)


def _check_together(text: str, kind: str, values: Values) -> None:
    if kind == "markov" and not number(values, "low") <= number(values, "high"):
        raise UserError(f"{text}: low is above high")
    shortest = {"markov": "dwell", "outage": "every"}.get(kind)
    if shortest is not None and number(values, "seconds") / number(values, shortest) > _MAX_PIECES:
        raise UserError(f"{text}: more than {_MAX_PIECES:,} changes; raise {shortest} or shorten seconds")


def _steps(_: np.random.Generator, values: Values) -> Pieces:
    try:
        rates = [float(rate) for rate in str(values["rates"]).split("-")]
    except ValueError:
        rates = []
    if not rates or not all(math.isfinite(rate) and rate <= _FASTEST for rate in rates):
        raise UserError(f"steps:rates={values['rates']}: rates in Mbit/s are needed, as rates=6-24-12")
    if not any(rates):
        raise UserError(f"steps:rates={values['rates']}: every rate is 0")
    return [number(values, "every")] * len(rates), rates


def _constant(_: np.random.Generator, values: Values) -> Pieces:
    return [number(values, "seconds")], [number(values, "rate")]


def _markov(rng: np.random.Generator, values: Values) -> Pieces:
    states, left = whole(values, "states"), number(values, "seconds")
    levels = np.geomspace(number(values, "low"), number(values, "high"), states)
    state = int(rng.integers(states))
    lasting: list[float] = []
    rates: list[float] = []
    while left > 0:
        stay = min(left, _MIN + float(rng.exponential(number(values, "dwell"))))
        stay = left if left - stay < _MIN else stay
        lasting.append(stay)
        rates.append(float(levels[state]))
        left -= stay
        if rng.random() < number(values, "jump"):
            state = int(rng.integers(states))
        else:
            up = rng.random() < 0.5
            state = min(state + 1, states - 1) if up else max(state - 1, 0)
    return lasting, rates


def _outage(rng: np.random.Generator, values: Values) -> Pieces:
    left = number(values, "seconds")
    lasting: list[float] = []
    rates: list[float] = []
    while left > 0:
        for mean, rate in ((number(values, "every"), number(values, "rate")), (number(values, "length"), 0.0)):
            stay = min(left, _MIN + float(rng.exponential(mean)))
            if stay > 0:
                lasting.append(stay)
                rates.append(rate)
            left = left - stay if left - stay >= _MIN else 0.0
    return lasting, rates


_FASTEST = 1e6
_RATE = Key(12.0, 1e-3, _FASTEST)
_COMMON = {"seconds": Key(60.0, 0.1, 1e6), "slot": Key(0.0, 0.0, 1.0), "seed": Key(0, 0, 2**63)}

GENERATORS: dict[str, tuple[dict[str, Key], Draw]] = {
    "constant": ({"rate": _RATE}, _constant),
    "steps": ({"every": Key(5.0, _MIN, 1e5), "rates": Key("6-24-12")}, _steps),
    "markov": (
        {
            "low": Key(2.0, 1e-3, _FASTEST),
            "high": Key(24.0, 1e-3, _FASTEST),
            "states": Key(8, 1, 1000),
            "dwell": Key(0.5, _MIN, 1e5),
            "jump": Key(0.05, 0.0, 1.0),
        },
        _markov,
    ),
    "outage": ({"rate": _RATE, "every": Key(8.0, _MIN, 1e5), "length": Key(0.5, _MIN, 1e5)}, _outage),
}
"""The keys that each kind has alongside the common ones, and how it draws its rates."""
