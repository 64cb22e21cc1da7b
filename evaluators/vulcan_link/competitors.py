"""What shares the link with a policy: `cubic`, `cubic:2`, `bbr:1@5-15` (from 5 s to 15 s), or `none`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from vulcan.errors import UserError, did_you_mean
from vulcan_link.algorithms import ALGORITHMS

_SPEC = re.compile(
    r"(?P<algorithm>[a-z][a-z0-9_-]*)(?::(?P<count>[0-9]{1,4}))?"
    r"(?:@(?P<start>[0-9]+(?:\.[0-9]+)?)(?:-(?P<stop>[0-9]+(?:\.[0-9]+)?))?)?\Z"
)
NONE = "none"
MAX = 100
"""Flows that may share a link."""


@dataclass(frozen=True, slots=True)
class Competitors:
    """`count` flows of one algorithm, from `start_s` until `stop_s` (None: the end)."""

    algorithm: str
    count: int
    start_s: float = 0.0
    stop_s: float | None = None


def parse_competitors(spec: str) -> Competitors | None:
    """What the setting says; None for `none`. Raises UserError for anything else than it may be."""
    if spec == NONE:
        return None
    match = _SPEC.match(spec)
    if match is None:
        raise UserError(f"competing flows {spec!r}: an algorithm, how many and when, such as cubic:2 or cubic:1@5-15")
    known = [name for name in ALGORITHMS if name != "policy"]
    if match["algorithm"] not in known:
        name = match["algorithm"]
        raise UserError(
            f"competing flows {spec!r}: no algorithm {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"
        )
    count = int(match["count"] or 1)
    start, stop = float(match["start"] or 0), float(match["stop"]) if match["stop"] else None
    if not 1 <= count <= MAX:
        raise UserError(f"competing flows {spec!r}: from 1 to {MAX} flows")
    if stop is not None and stop <= start:
        raise UserError(f"competing flows {spec!r}: they stop before they start")
    return Competitors(match["algorithm"], count, start, stop)


def fair_share(flows: int, competitors: Sequence[Competitors], duration_s: float) -> float:
    """The share of a constant link that `flows` flows get if all that are active share it evenly at every moment."""
    ends = [duration_s if c.stop_s is None else min(c.stop_s, duration_s) for c in competitors]
    moments = sorted({0.0, duration_s, *(min(c.start_s, duration_s) for c in competitors), *ends})
    share = 0.0
    for begin, end in pairwise(moments):
        others = sum(c.count for c, stop in zip(competitors, ends, strict=True) if c.start_s <= begin and end <= stop)
        share += (end - begin) / duration_s * flows / (flows + others)
    return share
