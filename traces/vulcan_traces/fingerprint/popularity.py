"""Popularity skew: how unequally requests are distributed over objects."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MAX_EXPONENT = 8.0
_RANKS_ONE_BY_ONE = 1024
_BLOCK = 1.0 + 1.0 / 128.0
"""Ranks above the first 1,024 are summed in blocks as wide as 1/128 of their rank: an error below 1e-5."""

_HALVINGS = 32


@dataclass(frozen=True, slots=True)
class Popularity:
    """See the fields of the same names in `Fingerprint`."""

    zipf_exponent: float
    zipf_misfit: float
    top_percent_share: float
    top_tenth_share: float
    one_hit_share: float


def popularity(counts: npt.NDArray[np.integer]) -> Popularity:
    """Of the requests that each object had, `counts` of shape (objects,), all at least 1.

    The exponent is the maximum-likelihood one of a Zipf law over as many ranks as there are objects, the objects
    ranked by their counts: the a at which the mean of ln(rank) over the requests is what the law expects. Equal counts
    take their ranks in any order, for only the sum over them is used. 0 where all counts are equal. The ranking is that
    of the trace itself, so that a trace with few requests an object seems more skewed than what it was drawn from.
    """
    sizes = np.bincount(counts)
    distinct = np.flatnonzero(sizes)[::-1]
    members = sizes[distinct]
    through = np.cumsum(members)
    objects, requests = int(through[-1]), int((distinct * members).sum())
    log_ranks = np.array([math.lgamma(rank + 1) for rank in (0, *through.tolist())])
    mean_log_rank = float((distinct * np.diff(log_ranks)).sum()) / requests
    requests_through = np.cumsum(distinct * members)

    def share_of_top(ranks: int) -> float:
        group = int(np.searchsorted(through, ranks))
        inside = int(requests_through[group]) - int(distinct[group]) * int(through[group] - ranks)
        return inside / requests

    middles, widths = _rank_blocks(objects)
    exponent = 0.0 if len(distinct) == 1 else _fitted(middles, widths, mean_log_rank)
    weights = widths * middles**-exponent
    law = np.cumsum(weights) / weights.sum()
    law_at = np.interp(through, np.cumsum(widths), law)
    return Popularity(
        exponent,
        float(np.abs(law_at - requests_through / requests).max()),
        share_of_top(max(1, round(objects / 100))),
        share_of_top(max(1, round(objects / 10))),
        float(members[distinct == 1].sum()) / objects,
    )


def _rank_blocks(objects: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Middle and width of blocks of ranks that together are the ranks 1 to `objects`."""
    edges = [float(rank) for rank in range(min(objects, _RANKS_ONE_BY_ONE) + 1)]
    while edges[-1] < objects:
        edges.append(min(float(objects), math.floor(edges[-1] * _BLOCK)))
    bounds = np.array(edges)
    return (bounds[1:] + bounds[:-1] + 1) / 2, np.diff(bounds)


def _fitted(ranks: npt.NDArray[np.float64], widths: npt.NDArray[np.float64], mean_log_rank: float) -> float:
    """The exponent at which a Zipf law expects that mean of ln(rank), by bisection: it falls with the exponent."""
    log_ranks = np.log(ranks)
    low, high = 0.0, MAX_EXPONENT
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        weights = widths * np.exp(-middle * log_ranks)
        if float(weights @ log_ranks) / float(weights.sum()) > mean_log_rank:
            low = middle
        else:
            high = middle
    return (low + high) / 2
