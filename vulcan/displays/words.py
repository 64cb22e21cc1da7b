"""How a search stands, in words for people."""

from __future__ import annotations

from vulcan.displays.tally import NO_FAILURES, Standing

MOST_RULES = 3
"""Rules of the language that are named beside the number of rejections, the most frequent."""


def progress_parts(standing: Standing) -> list[str]:
    """How far it is, how fast, what it has cost and how long it will take, the most important first."""
    parts = [f"{standing.settled}/{standing.total} candidates"]
    if standing.per_minute is not None:
        parts.append(f"{standing.per_minute:.0f} a minute")
    if standing.seconds_left is not None and standing.settled < standing.total:
        parts.append(f"{duration(standing.seconds_left)} left")
    if standing.dollars or standing.unpriced or standing.budget_dollars is not None:
        budget = "" if standing.budget_dollars is None else f" of ${standing.budget_dollars:.2f}"
        unknown = f" + {standing.unpriced} calls of unknown price" if standing.unpriced else ""
        parts.append(f"${standing.dollars:.2f}{budget}{unknown}")
    return parts


def score_parts(standing: Standing) -> list[str]:
    """The best candidate beside the strongest baseline."""
    parts = []
    if standing.best is not None:
        parts.append(f"best {standing.best[1]:.4f} (candidate {standing.best[0]})")
    if standing.baseline is not None:
        parts.append(f"best baseline {standing.baseline[1]:.4f} ({standing.baseline[0]})")
    if standing.gap is not None:
        parts.append(f"gap {standing.gap:+.4f}")
    return parts


def failure_parts(standing: Standing) -> list[str]:
    """What came to no score, the most frequent first, and the rules that the most rejections were for."""
    parts = []
    for verdict, count in standing.verdicts.items():
        if verdict in NO_FAILURES:
            continue
        rules = ", ".join(f"{rule} {n}" for rule, n in list(standing.rules.items())[:MOST_RULES])
        parts.append(f"{count} {verdict} ({rules})" if verdict == "rejected" and rules else f"{count} {verdict}")
    return parts


def duration(seconds: float) -> str:
    """Roughly, as `40 s`, `12 min` or `3 h 10 min`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
