"""States of a sender as a link could bring them about: magnitudes evenly spread, from nothing to what is rare."""

from __future__ import annotations

import math
from random import Random

from vulcan.task import Feature, Signature

_MAX = {"us": 1e7, "bits/s": 1e10, "packets": 65_535.0, "bytes": 1e8}


def sender_state(signature: Signature, random: Random) -> dict[str, float]:
    return {name: _value(name, feature, random) for name, feature in signature.features()}


def _value(name: str, feature: Feature, random: Random) -> float:
    if name == "state.cause":
        return float(random.choice((0, 0, 0, 0, 0, 1, 2, 3)))
    if feature.type == "bool":
        return float(random.random() < 0.1)
    if feature.low <= 0.0 and random.random() < 0.1:
        return 0.0
    low, high = max(feature.low, 1.0), min(feature.high, _MAX.get(feature.unit, feature.high))
    value = math.exp(random.uniform(math.log(low), math.log(max(high, low))))
    value = min(max(value, feature.low), feature.high)
    return value if feature.type == "float" else float(round(value))
