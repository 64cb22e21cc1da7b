"""Baselines of the task `congestion_control`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vulcan.evaluator import BaselineKind
from vulcan_link.algorithms import ALGORITHMS

FIXED_WINDOW = 40.0
"""Packets of the baseline `fixed`: a bandwidth-delay product of 12 Mbit/s and 40 ms."""


@dataclass(frozen=True, slots=True)
class LinkBaseline:
    """Baseline: an algorithm of the simulator; `parameter` is its number where it takes one."""

    algorithm: str
    kind: BaselineKind = "baseline"
    parameter: float = 0.0


_KINDS: Mapping[str, LinkBaseline] = {
    "fixed": LinkBaseline("fixed", parameter=FIXED_WINDOW),
    "bdp-oracle": LinkBaseline("bdp-oracle", "oracle"),
}
"""Those that are not compared as they are."""

BASELINES: Mapping[str, LinkBaseline] = {
    name: _KINDS.get(name, LinkBaseline(name)) for name in ALGORITHMS if name != "policy"
}
"""By name, in the order in which they are shown: every algorithm that the simulator has."""


@cache
def simulator_digest() -> str:
    """Return a hash of the simulator's source, part of the key of cached results."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for path in here.rglob("*.py") if path.parent.name != "linux"):
        digest.update(path.relative_to(here).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
