"""An attribution in words and tables: where a policy's misses come from, and where two policies differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan_cache.findings.attribution import Attribution


@dataclass(frozen=True, slots=True)
class Setting:
    """The context of an attribution: the names of its oracle and its baseline, and the scale of the instance.

    `mean_size` is of objects, in bytes; `held` how many of them fit; `is_unit` says that all have size 1.
    """

    oracle: str
    baseline: str
    requests: int
    capacity: int
    mean_size: float
    held: float
    is_unit: bool


def findings_of(found: Attribution, setting: Setting) -> list[EvaluatorFinding]:
    """Return the findings on one policy, compared with the oracle and the best baseline."""
    from vulcan_cache.kernels import attribution as k

    causes, facts, misses = found.causes, found.facts, found.misses
    regret = int(causes[k.REFUSED_BEFORE] + causes[k.LEFT_BEFORE])
    too_large = ""
    if causes[k.TOO_LARGE]:
        too_large = f", {_part(causes[k.TOO_LARGE], misses)} are of objects larger than the cache"
    found_here: list[EvaluatorFinding] = [
        Statement(
            f"It misses {misses:,} of {setting.requests:,} requests. {_part(causes[k.FIRST], misses)} are first "
            f"requests{too_large}, {_part(causes[k.ORACLE_TOO], misses)} are missed by the oracle {setting.oracle} "
            f"too, which knows the future, and {_part(regret, misses)} are hits there: these are the regret.",
            10.0,
        ),
        Statement(_against_baseline(found, setting), 9.0),
    ]
    if facts[k.EVICTIONS]:
        found_here.append(
            Statement(
                f"Of {int(facts[k.EVICTIONS]):,} evictions {_part(facts[k.EVICTED_FOR_GOOD], facts[k.EVICTIONS])} were "
                f"of objects never requested again, and {_part(facts[k.EVICTED_EARLY], facts[k.EVICTIONS])} came too "
                "early: the oracle still held the object at its next request.",
                8.0,
            )
        )
        found_here.append(Statement(_kept_too_long(found), 7.0))
        found_here.append(_holders(found))
    if facts[k.REFUSALS]:
        found_here.append(
            Statement(
                f"It refused {int(facts[k.REFUSALS]):,} objects; at "
                f"{_part(facts[k.REFUSED_WRONGLY], facts[k.REFUSALS])} of these the object was requested again while "
                "the oracle held it.",
                6.0,
            )
        )
    found_here += [table for dimension in range(k.DIMENSIONS) if (table := _table(found, setting, dimension))]
    by_phase = found.classes[k.PHASE]
    measured = by_phase[:, k.REQUESTS] > 0
    points = [
        ((number + 1) / k.CLASSES, float(row[k.MISSES]) / float(row[k.REQUESTS]))
        for number, row in enumerate(by_phase)
        if measured[number]
    ]
    if len(points) > 1:
        found_here.append(
            Series("miss ratio along the trace", "share of the requests", "miss ratio", tuple(points), 0.0)
        )
    return found_here


def _against_baseline(found: Attribution, setting: Setting) -> str:
    from vulcan_cache.kernels import attribution as k

    whole = found.classes[k.PHASE].sum(axis=0)
    lost, won = int(whole[k.LOST]), int(whole[k.WON])
    theirs = int(found.facts[k.BASELINE_MISSES])
    relation = "fewer" if theirs < found.misses else "more"
    return (
        f"The best baseline, {setting.baseline}, has {theirs:,} misses, {abs(theirs - found.misses):,} {relation}: it "
        f"hits {lost:,} requests that this policy misses (lost), and misses {won:,} that this policy hits (won)."
    )


def _kept_too_long(found: Attribution) -> str:
    from vulcan_cache.kernels import attribution as k

    held, idle, unhit = (float(found.spaces[n]) for n in (k.HELD, k.HELD_IDLE, k.HELD_UNHIT))
    return (
        f"{idle / held:.0%} of the cache (bytes times requests) was held by objects after their last hit, until they "
        f"were evicted: kept too long. {unhit / held:.0%} was held by objects never hit between entry and eviction "
        f"({_part(found.facts[k.NEVER_HIT], found.facts[k.EVICTIONS])} of the evictions): refusing these would have "
        "freed that space."
    )


def _holders(found: Attribution) -> SmallTable:
    from vulcan_cache.kernels import attribution as k

    held, idle, unhit = (float(found.spaces[n]) for n in (k.HELD, k.HELD_IDLE, k.HELD_UNHIT))
    parts = (
        ("until the next hit, or the end", held - idle),
        ("after the last hit, until evicted", idle - unhit),
        ("never hit, until evicted", unhit),
    )
    rows = tuple((name, round(100 * part / held, 1)) for name, part in parts)
    return SmallTable("Who holds the cache, in bytes times requests", ("objects", "of the cache %"), rows, 0.0)


def _table(found: Attribution, setting: Setting, dimension: int) -> SmallTable | None:
    """Return the table of a dimension; None where all requests are in one class of it, or there is no regret."""
    from vulcan_cache.kernels import attribution as k

    counts = found.classes[dimension]
    shown = [number for number in range(k.CLASSES) if counts[number, k.REQUESTS]]
    regret = int(counts[:, k.REGRET].sum())
    if len(shown) < 2 or not regret or (dimension == k.SIZE and setting.is_unit):
        return None
    names, title = _classes(dimension, setting)
    rows = tuple(_row(names[number], counts[number], counts, k.REGRET) for number in shown)
    columns = ("class", "requests %", "misses", "regret", "lost", "won")
    return SmallTable(f"Misses and regret by {title}", columns, rows, 1.0 + 4.0 * _concentration(counts, k.REGRET))


def _row(name: str, row: NDArray[np.int64], counts: NDArray[np.int64], column: int) -> tuple[str | float, ...]:
    from vulcan_cache.kernels import attribution as k

    requests, misses = int(row[k.REQUESTS]), int(row[k.MISSES])
    return (
        name,
        round(100 * requests / int(counts[:, k.REQUESTS].sum()), 1),
        misses,
        int(row[column]),
        int(row[k.LOST]),
        int(row[k.WON]),
    )


def _concentration(counts: NDArray[np.int64], column: int) -> float:
    """Return how differently a count and the requests are distributed over the classes: total variation, 0 to 1."""
    from vulcan_cache.kernels import attribution as k

    requests, counted = counts[:, k.REQUESTS].astype(float), counts[:, column].astype(float)
    return float(np.abs(counted / counted.sum() - requests / requests.sum()).sum() / 2)


def _classes(dimension: int, setting: Setting) -> tuple[list[str], str]:
    """Return the names of the classes, and what they are of."""
    from vulcan_cache.kernels import attribution as k

    if dimension == k.SIZE:
        edges = [setting.mean_size * 2.0**n for n in range(-3, k.CLASSES - 4)]
        names = [f"up to {edge:,.0f}" for edge in edges]
        return [*names, f"over {edges[-1]:,.0f}"], f"object size in bytes (mean {setting.mean_size:,.0f})"
    if dimension == k.SO_FAR:
        return ["first", "1", "2", "3-4", "5-8", "9-16", "17-32", "over 32"], "requests for the object before this one"
    if dimension == k.IDLE:
        edges = [setting.held * 0.25 * 2.0**n for n in range(k.CLASSES - 2)]
        names = [f"up to {edge:,.0f}" for edge in edges]
        title = f"requests since the object's last one (about {setting.held:,.0f} objects fit)"
        return ["first", *names, f"over {edges[-1]:,.0f}"], title
    return [f"{n}/{k.CLASSES}" for n in range(1, k.CLASSES + 1)], "part of the trace"


def differences(found: Attribution, setting: Setting) -> list[EvaluatorFinding]:
    """Return where two policies differ: `found` is of the first, attributed against the second as its baseline."""
    from vulcan_cache.kernels import attribution as k

    whole = found.classes[k.PHASE].sum(axis=0)
    lost, won = int(whole[k.LOST]), int(whole[k.WON])
    theirs = int(found.facts[k.BASELINE_MISSES])
    made: list[EvaluatorFinding] = [
        Statement(
            f"The first misses {found.misses:,} of {setting.requests:,} requests and the second {theirs:,}. "
            f"{won:,} are hits of the first alone and {lost:,} of the second alone; on the other "
            f"{setting.requests - won - lost:,} they agree.",
            10.0,
        )
    ]
    for dimension in range(k.DIMENSIONS):
        counts = found.classes[dimension]
        names, title = _classes(dimension, setting)
        shown = [n for n in range(k.CLASSES) if counts[n, k.LOST] or counts[n, k.WON]]
        if not shown or (dimension == k.SIZE and setting.is_unit):
            continue
        rows = tuple(
            (names[n], int(counts[n, k.REQUESTS]), int(counts[n, k.WON]), int(counts[n, k.LOST]),
             int(counts[n, k.WON] - counts[n, k.LOST]))
            for n in shown
        )  # fmt: skip
        balance = np.abs(counts[:, k.WON] - counts[:, k.LOST]).sum()
        columns = ("class", "requests", "hits of the first alone", "hits of the second alone", "gain of the first")
        weight = 1.0 + float(balance) / max(1, lost + won)
        made.append(SmallTable(f"Differences by {title}", columns, rows, weight))
    return made


def _part(count: float, of: float) -> str:
    return f"{int(count):,} ({count / max(of, 1):.0%})"
