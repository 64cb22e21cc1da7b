"""Description of the workload of the spot evaluators: the job, prices, and availability as runs meet it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, SmallTable, Statement
from vulcan_spot.job import SECONDS, Prices, SpotJob
from vulcan_spot.windows import Windows

AVAILABLE = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Limits of the classes of runs by the share of the time until the deadline in which spot is available."""

_LONG = (1.0, 4.0, 12.0)


def availability(windows: Windows, job: SpotJob) -> NDArray[np.float64]:
    """Return the share of the time until the deadline in which spot is available in some region, of shape (windows,).

    After the end of its window spot is not available.
    """
    ticks = -(-job.deadline // windows.gap)
    anywhere = np.asarray(np.atleast_2d(windows.available).any(axis=0))
    begins, ends = windows.begins.tolist(), windows.ends.tolist()
    return np.array([anywhere[a : min(b, a + ticks)].sum() / ticks for a, b in zip(begins, ends, strict=True)])


def classes_of(windows: Windows, job: SpotJob) -> NDArray[np.int64]:
    """Return the class of each run in `AVAILABLE`."""
    return np.asarray(np.searchsorted(AVAILABLE, availability(windows, job) - 1e-12))


def describe(windows: Windows, job: SpotJob, prices: Prices) -> list[EvaluatorFinding]:
    """Return the findings on an instance: its job, and availability as runs meet it until the deadline."""
    ticks = -(-job.deadline // windows.gap)
    regions = np.atleast_2d(windows.available)
    seen = [regions[:, a : min(b, a + ticks)] for a, b in zip(windows.begins, windows.ends, strict=True)]
    shares = np.array([[region.mean() if len(region) else 0.0 for region in window] for window in seen])
    slack = (job.deadline - job.duration) / SECONDS
    hours = windows.gap / SECONDS
    up, down = _spells(seen, hours)
    overhead, difference = job.overhead / SECONDS, prices.on_demand - prices.spot
    worth = ""
    if overhead and difference:
        worth = f", saved by {overhead * prices.spot / difference:.2f} h of work on spot instead of on demand"
    costs = f"{money(prices.spot)} an hour"
    if windows.prices is not None:
        here = np.concatenate(
            [np.arange(a, min(b, a + ticks)) for a, b in zip(windows.begins, windows.ends, strict=True)]
        )
        means = [float(price[here].mean()) for price in windows.prices]
        listed = ", ".join(f"{money(mean)} in region {n}" for n, mean in enumerate(means))
        costs = f"an hour, in the mean, {listed},"
    made: list[EvaluatorFinding] = [
        Statement(
            f"{len(seen):,} runs of {job}, in ticks of {hours:.2g} h: {slack:g} h of slack, "
            f"{slack * SECONDS / job.deadline:.0%} of the time. Spot costs {costs} and on-demand "
            f"{money(prices.on_demand)}. A start on spot costs {money(overhead * prices.spot)}{worth}.",
            10.0,
        )
    ]
    where = "Spot is" if len(regions) == 1 else f"In a region spot is (there are {len(regions)})"
    what = "spot" if len(regions) == 1 else "spot of one region"
    middle = np.median(shares.mean(axis=1))
    made.append(
        Statement(
            f"{where} available in {shares.mean():.0%} of the time; by run {shares.mean(axis=1).min():.0%} to "
            f"{shares.mean(axis=1).max():.0%}, half of the runs below {middle:.0%}. In "
            f"{int((shares.max(axis=1) * job.deadline >= job.duration).sum()):,} runs {what} is there for "
            "at least as long as the work takes, start-ups not counted.",
            9.0,
        )
    )
    if len(up) and len(down):
        made.append(
            Statement(
                f"Spot stays available for {up.mean():.2f} h on average (half of the spells: up to {np.median(up):.2f} "
                f"h) and out for {down.mean():.2f} h (half: up to {np.median(down):.2f} h, 90 %: up to "
                f"{np.quantile(down, 0.9):.2f} h). {(down > slack).mean():.0%} of the outages last longer than the "
                "whole slack.",
                8.0,
            )
        )
        edges = sorted({overhead, *_LONG} - {0.0})
        classes = [np.searchsorted(edges, lengths - 1e-9) for lengths in (up, down)]
        names = [f"up to {edge:g} h" for edge in edges] + [f"over {edges[-1]:g} h"]
        rows = [
            row(name, *(_share(lengths, of == n) for lengths, of in zip((up, down), classes, strict=True)))
            for n, name in enumerate(names)
        ]
        columns = ("length", "available: % of that time", "out: % of that time")
        made.append(SmallTable("Time in spells of availability and outages by their length", columns, tuple(rows), 4.0))
    if len(regions) > 1:
        together = np.array([window.any(axis=0).mean() for window in seen])
        best = shares.max(axis=1)
        made.append(
            Statement(
                f"Spot is available somewhere in {together.mean():.0%} of the time, and in the best region of each run "
                f"in {best.mean():.0%}; the job begins in region 0, with {shares[:, 0].mean():.0%}.",
                8.5,
            )
        )
    return made


def hazards(windows: Windows, job: SpotJob) -> list[EvaluatorFinding]:
    """Return the chance that spot goes, or is back, within the hour, by how long it has been there, or out.

    In the earlier and the later half of the runs, each up to its deadline; how long is counted from the run's start.
    """
    ticks, hours = -(-job.deadline // windows.gap), windows.gap / SECONDS
    ahead = max(1, round(1 / hours))
    edges = [1.0, 4.0, 12.0, np.inf]
    counts = np.zeros((2, len(edges), 2, 2))  # by what it is, for how long, half, and whether it changes
    for n, (a, b) in enumerate(zip(windows.begins, windows.ends, strict=True)):
        for region in np.atleast_2d(windows.available)[:, a : min(b, a + ticks)]:
            at = np.arange(len(region) - ahead)  # what comes later is not known to the end
            changes = np.flatnonzero(np.diff(region.astype(np.int8))) + 1
            past = np.searchsorted(changes, at, "right")
            since = (at + 1 - np.concatenate(([0], changes))[past]) * hours
            changed = np.concatenate((changes, [len(region)]))[past] <= at + ahead
            age = np.searchsorted(edges, since - 1e-9)
            half = np.full(len(at), 2 * n // len(windows.begins))
            where = np.ravel_multi_index((region[at], age, half, changed), counts.shape)
            counts += np.bincount(where, minlength=counts.size).reshape(counts.shape)
    rows: list[tuple[str | float, ...]] = []
    for what, name in ((1, "there, and goes"), (0, "out, and is back")):
        for edge, halves in zip(edges, counts[what], strict=True):
            if halves.sum(axis=1).all():
                label = f"over {edges[-2]:g} h" if np.isinf(edge) else f"up to {edge:g} h"
                rows.append((name, label, *(round(100 * float(c[1] / c.sum()), 1) for c in halves)))
    columns = ("spot is", "since", "first half %", "second half %")
    return [SmallTable(f"Chance of a change within {ahead * hours:.3g} h", columns, tuple(rows), 8.0)] if rows else []


def _spells(seen: Sequence[NDArray[np.uint8]], hours: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lengths of all spells of availability and of all outages, in hours; runs cut them at their ends."""
    lengths: tuple[list[float], list[float]] = ([], [])
    for window in seen:
        for region in window:
            edges = np.concatenate(([0], np.flatnonzero(np.diff(region.astype(np.int8))) + 1, [len(region)]))
            for begin, end in pairwise(edges):
                if end > begin:
                    lengths[0 if region[begin] else 1].append((end - begin) * hours)
    return np.array(lengths[0]), np.array(lengths[1])


def _share(lengths: NDArray[np.float64], here: NDArray[np.bool_]) -> float:
    return 100 * float(lengths[here].sum()) / float(lengths.sum())


def row(name: str, *values: float) -> tuple[str | float, ...]:
    """Return the row of a table, with dollars and hours rounded."""
    return (name, *(value if isinstance(value, int) else round(float(value), 4) for value in values))


def money(dollars: float) -> str:
    return f"{'-' if dollars < 0 else ''}${abs(dollars):,.2f}"
