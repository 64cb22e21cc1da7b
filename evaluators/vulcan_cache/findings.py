"""An attribution in words and tables: where a policy's misses come from, and where two policies differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan_cache import account as a
from vulcan_cache.account import Attribution

Rows = tuple[tuple[str | float, ...], ...]
"""Of a table."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The context of an attribution: the names of its oracle and its baseline, and the scale of the instance.

    `requests` are those measured, of `length`; `mean_size` is of objects, in bytes; `held` how many of them fit;
    `is_unit` says that all have size 1, `has_parent` that the misses of a parent were given.
    """

    oracle: str
    baseline: str
    requests: int
    length: int
    capacity: int
    mean_size: float
    held: float
    is_unit: bool
    has_parent: bool = False


def findings_of(found: Attribution, setting: Setting) -> list[EvaluatorFinding]:
    """Return the findings on one policy, compared with the oracle, the best baseline, and its parent if it has one."""
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
    if setting.has_parent:
        found_here += _against_parent(found, setting)
    if facts[k.EVICTIONS]:
        found_here.append(Statement(_evicted_too_early(found, setting), 8.0))
        found_here.append(Statement(_kept_too_long(found, setting), 7.0))
        found_here.append(Statement(_admission(found), 6.5))
    if facts[k.REFUSALS]:
        found_here.append(
            Statement(
                f"It refused {int(facts[k.REFUSALS]):,} objects; at "
                f"{_part(facts[k.REFUSED_WRONGLY], facts[k.REFUSALS])} of these the object was requested again while "
                "the oracle held it.",
                6.0,
            )
        )
    tables = [(_table(counts, title, names)) for counts, title, names in _dimensions(found, setting)]
    return [*found_here, *filter(None, tables), *_pictures(found, setting)]


def _against_baseline(found: Attribution, setting: Setting) -> str:
    whole = found.whole
    theirs = int(whole[a.BASELINE_MISSES])
    relation = "fewer" if theirs < found.misses else "more"
    return (
        f"The best baseline, {setting.baseline}, has {theirs:,} misses, {abs(theirs - found.misses):,} {relation}: it "
        f"hits {int(whole[a.LOST]):,} requests that this policy misses (lost), and misses {int(whole[a.WON]):,} that "
        "this policy hits (won)."
    )


def _evicted_too_early(found: Attribution, setting: Setting) -> str:
    from vulcan_cache.kernels import attribution as k

    facts, whole = found.facts, found.whole
    return (
        f"Of {int(facts[k.EVICTIONS]):,} evictions {_part(facts[k.EVICTED_FOR_GOOD], facts[k.EVICTIONS])} were of "
        f"objects never requested again, and {_part(facts[k.EVICTED_EARLY], facts[k.EVICTIONS])} came too early: the "
        f"oracle still held the object at its next request. {setting.baseline} has {int(whole[a.BASELINE_REGRET]):,} "
        f"misses of that kind, {int(whole[a.SHARED_REGRET]):,} of them at the same requests."
    )


def _kept_too_long(found: Attribution, setting: Setting) -> str:
    from vulcan_cache.kernels import attribution as k

    held = float(found.holders.sum())
    idle = float(found.holders[[k.AFTER_HITS, k.UNHIT]].sum())
    return (
        f"{idle / held:.0%} of the cache (bytes times requests) was held by objects after their last hit, until they "
        f"were evicted: kept too long. {_until_hits(found, setting, 'policy'):.0%} was held until a hit; by "
        f"{setting.baseline} {_until_hits(found, setting, 'baseline'):.0%}, by {setting.oracle} "
        f"{_until_hits(found, setting, 'oracle'):.0%}."
    )


def _until_hits(found: Attribution, setting: Setting, who: str) -> float:
    """Return which share of the cache, in bytes times requests, someone held until a hit."""
    from vulcan_cache.kernels import attribution as k

    used = {
        "policy": found.holders[k.NEXT_HIT],
        "oracle": found.used[k.ORACLE_USE],
        "baseline": found.used[k.BASELINE_USE],
        "parent": found.used[k.PARENT_USE],
    }
    return float(used[who]) / (float(setting.capacity) * setting.length)


def _admission(found: Attribution) -> str:
    """Return what refusing the objects that are never hit would have saved.

    Their share u of the space would let the others stay 1 / (1 - u) times as long.
    """
    from vulcan_cache.kernels import attribution as k

    share = float(found.holders[k.UNHIT] / found.holders.sum())
    told = (
        f"Admission: objects never hit between entry and eviction, "
        f"{_part(found.facts[k.NEVER_HIT], found.facts[k.EVICTIONS])} of the evictions, held {share:.0%} of the cache."
    )
    regret = int(found.whole[a.REGRET])
    if share >= 1 or not regret:
        return told
    longer = 1 / (1 - share)
    saved = int((found.stays <= longer).sum())
    told += f" Refusing them would have let the others stay about {longer:.1f} times as long, and saved "
    if not saved:
        return told + "none of the regret: no object that had been hit came back within that time."
    return (
        told + f"about {_part(saved, regret)} of the regret: objects that had been hit, and came back within that time."
    )


def _against_parent(found: Attribution, setting: Setting) -> list[EvaluatorFinding]:
    """Return what was changed from the policy's parent: misses, early evictions and space, and where it tells most."""
    whole = found.whole
    lost, won = int(whole[a.PARENT_LOST]), int(whole[a.PARENT_WON])
    made: list[EvaluatorFinding] = [
        Statement(
            f"Its parent, the policy it was made from, has {int(whole[a.PARENT_MISSES]):,} misses: {won:,} of them are "
            f"hits now, and {lost:,} of its hits are misses now. Misses of objects that were evicted or refused too "
            f"early, which the oracle hits: {int(whole[a.PARENT_REGRET]):,} there, {int(whole[a.REGRET]):,} now. Held "
            f"until a hit, and not kept too long: {_until_hits(found, setting, 'parent'):.0%} of the cache there, "
            f"{_until_hits(found, setting, 'policy'):.0%} now.",
            8.5,
        )
    ]
    most, table = 0.0, None
    for counts, title, names in _dimensions(found, setting):
        gains = counts[:, a.PARENT_WON] - counts[:, a.PARENT_LOST]
        shown = [n for n in range(len(names)) if counts[n, a.PARENT_WON] or counts[n, a.PARENT_LOST]]
        if (telling := float(np.abs(gains).sum())) > most and len(shown) > 1:
            columns = ("class", "hits now alone", "hits of the parent alone", "gain")
            rows: Rows = tuple(
                (names[n], int(counts[n, a.PARENT_WON]), int(counts[n, a.PARENT_LOST]), int(gains[n])) for n in shown
            )
            most, table = telling, SmallTable(f"What the change from the parent did, by {title}", columns, rows, 5.5)
    return made if table is None else [*made, table]


def _pictures(found: Attribution, setting: Setting) -> list[EvaluatorFinding]:
    """Return what is for people alone: the miss ratio along the trace beside others."""
    from vulcan_cache.kernels import attribution as k

    parts = [(n + 1, row) for n, row in enumerate(found.along) if row[a.REQUESTS]]
    lines = (
        ("policy", a.MISSES),
        (setting.baseline, a.BASELINE_MISSES),
        (f"{setting.oracle} (oracle)", a.ORACLE_MISSES),
    )
    return [
        Series(
            "Miss ratio along the trace",
            "share of the requests",
            name,
            tuple((n / k.STRETCHES, float(row[column]) / float(row[a.REQUESTS])) for n, row in parts),
            0.0,
        )
        for name, column in lines
        if len(parts) > 1
    ]


def _dimensions(found: Attribution, setting: Setting) -> list[tuple[NDArray[np.int64], str, list[str]]]:
    """Return the counts by classes of each dimension, with what the classes are of and their names."""
    from vulcan_cache.kernels import attribution as k

    made = []
    for dimension in range(k.DIMENSIONS):
        if dimension != k.SIZE or not setting.is_unit:
            names, title = _classes(dimension, setting)
            made.append((found.classes[dimension], title, names))
    by_part = found.along.reshape(k.CLASSES, -1, found.along.shape[1]).sum(axis=1)
    return [*made, (by_part, "part of the trace", [f"{n}/{k.CLASSES}" for n in range(1, k.CLASSES + 1)])]


def _table(counts: NDArray[np.int64], title: str, names: list[str]) -> SmallTable | None:
    """Return the table of a dimension; None where all requests are in one class of it, or there is no regret."""
    shown = [number for number in range(len(names)) if counts[number, a.REQUESTS]]
    if len(shown) < 2 or not counts[:, a.REGRET].sum():
        return None
    requests = int(counts[:, a.REQUESTS].sum())
    rows: Rows = tuple(
        (names[n], round(100 * int(counts[n, a.REQUESTS]) / requests, 1),
         *(int(counts[n, column]) for column in (a.MISSES, a.REGRET, a.LOST, a.WON)))
        for n in shown
    )  # fmt: skip
    columns = ("class", "requests %", "misses", "regret", "lost", "won")
    return SmallTable(f"Misses and regret by {title}", columns, rows, 1.0 + 4.0 * _concentration(counts))


def _concentration(counts: NDArray[np.int64]) -> float:
    """Return how differently regret and requests are distributed over the classes: total variation, 0 to 1."""
    requests, regret = counts[:, a.REQUESTS].astype(float), counts[:, a.REGRET].astype(float)
    return float(np.abs(regret / regret.sum() - requests / requests.sum()).sum() / 2)


def _classes(dimension: int, setting: Setting) -> tuple[list[str], str]:
    """Return the names of the classes, and what they are of."""
    from vulcan_cache.kernels import attribution as k

    if dimension == k.SIZE:
        edges = [setting.mean_size * 2.0**n for n in range(-3, k.CLASSES - 4)]
        names = [f"up to {edge:,.0f}" for edge in edges]
        return [*names, f"over {edges[-1]:,.0f}"], f"object size in bytes (mean {setting.mean_size:,.0f})"
    if dimension == k.SO_FAR:
        return ["first", "1", "2", "3-4", "5-8", "9-16", "17-32", "over 32"], "requests for the object before this one"
    edges = [setting.held * 0.25 * 2.0**n for n in range(k.CLASSES - 2)]
    names = [f"up to {edge:,.0f}" for edge in edges]
    title = f"requests since the object's last one (about {setting.held:,.0f} objects fit)"
    return ["first", *names, f"over {edges[-1]:,.0f}"], title


def differences(found: Attribution, setting: Setting) -> list[EvaluatorFinding]:
    """Return where two policies differ: `found` is of the first, attributed against the second as its baseline."""
    whole = found.whole
    lost, won, theirs = int(whole[a.LOST]), int(whole[a.WON]), int(whole[a.BASELINE_MISSES])
    made: list[EvaluatorFinding] = [
        Statement(
            f"The first misses {found.misses:,} of {setting.requests:,} requests and the second {theirs:,}. "
            f"The cache is of {setting.capacity:,} bytes. "
            f"{won:,} are hits of the first alone and {lost:,} of the second alone; on the other "
            f"{setting.requests - won - lost:,} they agree.",
            10.0,
        ),
        Statement(
            f"Evicted or refused too early: at {int(whole[a.REGRET]):,} misses of the first and "
            f"{int(whole[a.BASELINE_REGRET]):,} of the second the oracle {setting.oracle} still holds the object; "
            f"{int(whole[a.SHARED_REGRET]):,} of these are misses of both. Held until a hit, and not kept too long: "
            f"{_until_hits(found, setting, 'policy'):.0%} of the cache (bytes times requests) with the first, "
            f"{_until_hits(found, setting, 'baseline'):.0%} with the second, and "
            f"{_until_hits(found, setting, 'oracle'):.0%} with the oracle.",
            9.0,
        ),
    ]
    for counts, title, names in _dimensions(found, setting):
        shown = [n for n in range(len(names)) if counts[n, a.LOST] or counts[n, a.WON]]
        if not shown:
            continue
        gains = counts[:, a.WON] - counts[:, a.LOST]
        rows: Rows = tuple(
            (names[n], *(int(counts[n, column]) for column in (a.REQUESTS, a.WON, a.LOST)), int(gains[n]))
            for n in shown
        )
        columns = ("class", "requests", "hits of the first alone", "hits of the second alone", "gain of the first")
        weight = 1.0 + float(np.abs(gains).sum()) / max(1, lost + won)
        made.append(SmallTable(f"Differences by {title}", columns, rows, weight))
    return made


def _part(count: float, of: float) -> str:
    return f"{int(count):,} ({count / max(of, 1):.0%})"
