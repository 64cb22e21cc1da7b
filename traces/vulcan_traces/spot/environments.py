"""Generated stand-ins for measured environments, for use without any data.

Mean and spread of spells are those of the two weeks that were recorded in us-west-2 from 2022-10-26 on (Wu et al.,
"Can't Be Late", NSDI 2024), in hours; a name says the zone, the GPU and how many of them. Those of
the nine zones are of the 45 days that were recorded for one V100 from 2023-02-15 on. Zones are drawn independently of
one another, which measured ones are not quite.
"""

from __future__ import annotations

from collections.abc import Mapping

HOURS = 2800
"""Room for 30 runs of four days that share no tick."""

_SPELLS = {
    "2a_k80_1": (6.6, 1.4, 0.33, 1.3),
    "2a_v100_1": (2.3, 1.8, 1.06, 1.75),
    "2b_k80_1": (1.7, 2.2, 5.0, 3.3),
    "2b_v100_1": (1.96, 1.56, 1.34, 1.54),
    "2a_k80_8": (1.83, 1.36, 1.49, 1.62),
    "2a_v100_8": (0.69, 1.6, 1.39, 2.1),
    "2b_k80_8": (1.29, 1.44, 0.91, 2.0),
    "2b_v100_8": (0.58, 1.37, 1.12, 2.55),
}
"""Hours of availability and their spread, hours without and their spread."""

_ZONES = {
    "east-1a": (0.72, 1.49, 3.55, 2.6),
    "east-1c": (1.48, 2.12, 1.64, 1.6),
    "east-1d": (1.66, 2.13, 1.87, 1.95),
    "east-1f": (2.18, 2.01, 1.52, 1.83),
    "east-2a": (5.51, 2.46, 1.81, 1.72),
    "east-2b": (4.27, 1.76, 1.91, 1.44),
    "west-2a": (5.76, 2.62, 0.81, 1.42),
    "west-2b": (9.75, 2.58, 1.1, 1.34),
    "west-2c": (6.48, 2.69, 0.84, 1.49),
}

_PRICES = {
    "east-1a": 1.63,
    "east-1c": 1.3,
    "east-1d": 1.26,
    "east-1f": 1.28,
    "east-2a": 0.93,
    "east-2b": 0.92,
    "west-2a": 0.95,
    "west-2b": 0.96,
    "west-2c": 0.95,
}
"""Dollars an hour on spot: the mean over the eight windows of the public evaluator for several regions."""

_SEARCHED = ("2a_k80_1", "2a_v100_1", "2b_k80_1", "2b_v100_1")


def _spec(name: str, seed: int, price: float | None = None) -> str:
    up, up_spread, down, down_spread = (_SPELLS | _ZONES)[name]
    spells = f"up={up},up_spread={up_spread},down={down},down_spread={down_spread}"
    priced = "" if price is None else f",price={price}"
    return f"markov:{spells},hours={HOURS},seed={seed},name={name}{priced}"


EMBEDDED_SPOT: Mapping[str, tuple[str, ...]] = {
    "train": tuple(_spec(name, 100 + i) for i, name in enumerate(_SEARCHED)),
    "validation": tuple(_spec(name, 200 + i) for i, name in enumerate(_SEARCHED)),
    "test": tuple(_spec(name, 300 + i) for i, name in enumerate(_SPELLS)),
}
"""By split. The test has, alongside other draws of the four environments of the search, four that it never saw."""

_REGIONS = (
    ("east-1a", "east-1c"),
    ("east-2a", "west-2a"),
    ("east-1a", "east-2b", "west-2c"),
    ("east-1a", "east-1f", "west-2a", "west-2b", "east-2b"),
    ("east-1a", "east-1c", "east-1d"),
    ("east-2a", "west-2c", "east-1d", "east-2b", "west-2a", "east-1f", "east-1a", "west-2b", "east-1c"),
)
"""Those of the public evaluator for several regions (ADRS, 2025); the first four are searched on."""


Sets = tuple[tuple[str, ...], ...]


def _regions(sets: Sets, seed: int, priced: bool) -> Sets:
    return tuple(
        tuple(_spec(zone, seed + 10 * i + j, _PRICES[zone] if priced else None) for j, zone in enumerate(zones))
        for i, zones in enumerate(sets)
    )


def _by_split(priced: bool) -> Mapping[str, Sets]:
    return {
        "train": _regions(_REGIONS[:4], 1000, priced),
        "validation": _regions(_REGIONS[:4], 2000, priced),
        "test": _regions(_REGIONS, 3000, priced),
    }


EMBEDDED_REGIONS = _by_split(priced=False)
"""By split: for each environment the trace of every region of it. The test has two that the search never saw."""

PRICED_REGIONS = _by_split(priced=True)
"""The same, with the price of each zone."""
