"""Markov chain of spot availability: `markov:up=2.3,down=1.1,seed=1`.

    up, down                  mean hours for which a spot VM can be had, and for which it cannot
    up_spread, down_spread    standard deviation of those hours as a multiple of their mean, from 1 (a chain of two
                              states) on; above 1 a spell is a short or a long one, which makes four states
    hours, gap                length of the trace, and the seconds of a tick
    price                     dollars an hour on spot, the same at all times; 0 for none
    seed, name                name is a label, no part of the content

Measured spells vary more than those of two states: see `vulcan_traces.spot.environments`. A spell of more spread is
hyperexponential with balanced means (Whitt, "Approximating a Point Process by a Renewal Process", 1982), in whole
ticks of which there is at least one; so means and spreads are approximate where they are close to one tick.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.spot.read import MAX_GAP, MAX_PRICE
from vulcan_traces.spot.spot_trace import SpotTrace
from vulcan_traces.synthetic.specification import Key, number, parse_keys, whole

PREFIX = "markov:"

KEYS = {
    "up": Key(2.0, 1e-3, 1e6),
    "down": Key(1.0, 1e-3, 1e6),
    "up_spread": Key(1.0, 1, 20),
    "down_spread": Key(1.0, 1, 20),
    "hours": Key(1000.0, 1, 1e6),
    "gap": Key(600, 1, MAX_GAP),
    "price": Key(0.0, 0, MAX_PRICE),
    "seed": Key(0, 0, 2**63),
}

MAX_TICKS = 10_000_000

Spells = npt.NDArray[np.int64]


def generate_markov(spec: str) -> SpotTrace:
    """Return the trace that a specification describes. Raises UserError for an unknown key and a value out of range."""
    parsed = parse_keys(spec, KEYS)
    values = parsed.values
    gap, hours = whole(values, "gap"), number(values, "hours")
    ticks = math.ceil(hours * 3600 / gap)
    if ticks > MAX_TICKS:
        raise UserError(f"{spec}: {ticks:,} ticks; at most {MAX_TICKS:,} are made")
    random = np.random.Generator(np.random.PCG64(whole(values, "seed")))
    up, down = (number(values, key) * 3600 / gap for key in ("up", "down"))
    begins_up = random.random() < up / (up + down)
    available = np.empty(0, np.uint8)
    while len(available) < ticks:
        count = max(16, round(1.2 * (ticks - len(available)) / (up + down)))
        spells = np.empty(2 * count, np.int64)
        spells[0 if begins_up else 1 :: 2] = _spells(random, count, up, number(values, "up_spread"))
        spells[1 if begins_up else 0 :: 2] = _spells(random, count, down, number(values, "down_spread"))
        states = (np.arange(2 * count) % 2 == (0 if begins_up else 1)).astype(np.uint8)
        available = np.concatenate((available, np.repeat(states, np.minimum(spells, ticks))))
    price = number(values, "price")
    return SpotTrace(parsed.name, gap, available[:ticks].copy(), prices=np.full(ticks, price) if price else None)


def _spells(random: np.random.Generator, count: int, mean: float, spread: float) -> Spells:
    """Lengths in ticks, of that mean and with a standard deviation of `spread` times the mean."""
    share = 0.5 * (1 + math.sqrt((spread**2 - 1) / (spread**2 + 1)))
    is_short = random.random(count) < share
    means = np.where(is_short, mean / (2 * share), mean / (2 * (1 - share)))
    leave = np.minimum(1.0, 1.0 / means)  # the chance that a tick is the spell's last
    return _geometric(random.random(count), leave)


def _geometric(uniform: npt.NDArray[np.float64], leave: npt.NDArray[np.float64]) -> Spells:
    """By inversion: how many ticks until the first that is the last, at least 1."""
    stay = np.log1p(-np.minimum(leave, 1 - 1e-15))
    return np.asarray(1 + np.floor(np.log1p(-uniform) / stay), dtype=np.int64)
