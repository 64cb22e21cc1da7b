"""A workload in words and numbers that a designer of a policy uses, from the trace's fingerprint."""

from __future__ import annotations

import math
from itertools import pairwise

from vulcan.findings import EvaluatorFinding, SmallTable, Statement
from vulcan_traces.fingerprint import Fingerprint
from vulcan_traces.fingerprint.fingerprint import Distribution

REACHES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Reuse distances that are told apart, as multiples of the objects that fit into the cache."""

_DRIFTS, _TELLING = 0.1, 0.01


def describe(found: Fingerprint, capacity: int, *, is_unit: bool) -> list[EvaluatorFinding]:
    """Return the findings on a workload; `capacity` is in bytes, or in objects where all have size 1."""
    held = min(found.objects, capacity if is_unit else capacity / max(1.0, found.size_mean))
    unit = "objects" if is_unit else "bytes"
    total = found.objects if is_unit else found.footprint
    made: list[EvaluatorFinding] = [
        Statement(
            f"{found.requests:,} requests for {found.objects:,} objects. The cache of {capacity:,} {unit} is "
            f"{capacity / max(1, total):.1%} of them, and holds about {held:,.0f} objects of mean size. First "
            f"requests, which every policy misses, are {found.cold_share:.1%} of the requests.",
            10.0,
        ),
        Statement(
            f"{found.one_hit_share:.1%} of the objects are requested exactly once (one-hit objects), with "
            f"{found.one_hit_share * found.objects / found.requests:.1%} of the requests. Popularity: the most "
            f"requested 1 % of the objects have {found.top_percent_share:.1%} of the requests, 10 % have "
            f"{found.top_tenth_share:.1%} (Zipf exponent {found.zipf_exponent:.2f}).",
            9.0,
        ),
        Statement(_reuse(found, held), 8.0),
    ]
    if not is_unit and found.size_variation > 0:
        correlation = found.size_correlation or 0.0
        popular = "about as popular as small ones"
        if abs(correlation) >= _DRIFTS:
            popular = f"{'more' if correlation > 0 else 'less'} popular than small ones"
        low, middle, high = (found.object_sizes.quantile(share) or 0.0 for share in (0.1, 0.5, 0.9))
        made.append(
            Statement(
                f"Object sizes: mean {found.size_mean:,.0f} bytes; 10 % are below {low:,.0f}, half below "
                f"{middle:,.0f}, 90 % below {high:,.0f}. Large objects are {popular} (rank correlation "
                f"{correlation:+.2f}).",
                7.0,
            )
        )
    made.append(Statement(_drift(found), 6.0))
    if max(found.scan_share, found.loop_share, found.sequence_share) >= _TELLING:
        made.append(
            Statement(
                f"Scans: {found.scan_share:.1%} of the requests are in runs of 32 or more for objects never requested "
                f"before. Loops: {found.loop_share:.1%} repeat an earlier passage in its order. Sequences: "
                f"{found.sequence_share:.1%} run on in their ids.",
                5.0 + 4.0 * (max(found.scan_share, found.loop_share) > _DRIFTS),
            )
        )
    if found.reuse_distances.count:
        made.append(_reuse_table(found, held))
    return made


def _reuse(found: Fingerprint, held: float) -> str:
    distances = found.reuse_distances
    if not distances.count:
        return "No object is requested again."
    within = share_within(distances, held)
    beyond = 1 - share_within(distances, 2 * held)
    return (
        f"Reuse distance (different objects requested between two requests for the same one): half of the reuses are "
        f"within {distances.quantile(0.5) or 0.0:,.0f} objects, 90 % within {distances.quantile(0.9) or 0.0:,.0f}. "
        f"About {within:.0%} are within what the cache holds, and {beyond:.0%} beyond twice that."
    )


def _reuse_table(found: Fingerprint, held: float) -> SmallTable:
    within = [share_within(found.reuse_distances, reach * held) for reach in REACHES]
    names = [*(f"up to {reach:g} times" for reach in REACHES), f"over {REACHES[-1]:g} times"]
    limits = [*(f"up to {held * reach:,.0f}" for reach in REACHES), f"over {held * REACHES[-1]:,.0f}"]
    shares = [high - low for low, high in pairwise([0.0, *within, 1.0])]
    rows = tuple((name, limit, round(100 * share, 1)) for name, limit, share in zip(names, limits, shares, strict=True))
    return SmallTable(
        "Reuse distances against the objects that the cache holds", ("class", "objects", "reuses %"), rows, 4.0
    )


def _drift(found: Fingerprint) -> str:
    kind = "hardly changes" if found.drift < _DRIFTS else "changes"
    return (
        f"Popularity {kind} over time: drift {found.drift:.2f} from one eighth of the trace to the next and "
        f"{found.drift_from_start:.2f} from the first to the last (0: one law throughout, 1: no common objects). "
        f"{found.late_cold_share:.1%} of the requests in the second half are for objects not seen before."
    )


def share_within(distances: Distribution, reach: float) -> float:
    """Return about which share of the numbers is up to `reach`, evenly on a logarithmic scale within an octave."""
    share = 0.0
    for start, end, part in distances.octaves:
        if end <= reach:
            share += part
        elif start <= reach:
            share += part * math.log2((reach + 1) / start) / math.log2((end + 1) / start)
    return min(1.0, share)
