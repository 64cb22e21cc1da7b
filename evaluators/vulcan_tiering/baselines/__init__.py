"""Baselines of memory tiering.

All of them run on one engine: the same samples, intervals, limit of copies and costs as a candidate. Each module says
what it simplifies of the system it is named after. This module does not import numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vulcan.evaluator import BaselineKind


@dataclass(frozen=True, slots=True)
class TieringBaseline:
    """Baseline of memory tiering.

    `kind` is `bound` where it knows the future. `version` grows when its results change, so that results cached on disk
    can be told from new ones.
    """

    name: str
    kind: BaselineKind
    source: str
    version: int = 1


_ALL = (
    TieringBaseline("first-touch", "baseline", "where a page was first put it stays; the fast tier fills up first"),
    TieringBaseline("tpp", "baseline", "Maruf et al., TPP, ASPLOS 2023: recency, with a second chance"),
    TieringBaseline("hemem", "baseline", "Raybuck et al., HeMem, SOSP 2021: counts with thresholds and cooling"),
    TieringBaseline(
        "memtis-like",
        "baseline",
        "the threshold of Memtis (Lee et al., SOSP 2023), from a histogram, without huge pages",
    ),
    TieringBaseline(
        "arms-like",
        "baseline",
        "the score of ARMS (2025) where its hot set changes, of two moving averages, and nothing else of it",
    ),
    TieringBaseline(
        "arms",
        "baseline",
        "Yadalam et al., ARMS, 2025: two averages, changes of the hot set, benefit against cost, batches by bandwidth",
    ),
    TieringBaseline(
        "static-oracle", "oracle", "the pages with the most accesses of all, which never move (no proven bound)"
    ),
    TieringBaseline(
        "omniscient", "oracle", "each interval the best pages for it, and migrations for nothing (a proven bound)"
    ),
)

BASELINES: Mapping[str, TieringBaseline] = MappingProxyType({baseline.name: baseline for baseline in _ALL})
"""Every known way by name, in the order in which they are shown."""
