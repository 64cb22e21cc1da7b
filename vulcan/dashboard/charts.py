"""The figures of a run's page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from vulcan.dashboard.live_run import LiveRun
from vulcan.errors import UserError, did_you_mean
from vulcan.results import figures
from vulcan.results.behaviour_map import behaviour
from vulcan.results.run import scorer_of
from vulcan.svg import Figure

_SHOWN = 10
"""Number of the best candidates whose lines the tree of descent has."""


def figure_of(run: LiveRun, name: str, candidate: int) -> Figure | None:
    """Return a figure of a run, whose candidates lead to their pages; None where too little has a score.

    `candidate` is the one that it is about, 0 for the best. Raises UserError.
    """

    def link(number: int) -> str:
        return f"/runs/{quote(run.name, safe='')}/candidates/{number}"

    with run.lock:
        record, shown = run.record, run.judged(candidate).candidate if candidate else None
        makers: Mapping[str, Callable[[], Figure | None]] = {
            "progress": lambda: figures.best_score(record, candidate=shown, link=link),
            "instances": lambda: figures.by_instance(record, scorer_of(record), shown),
            "constants": lambda: figures.constants(record, shown),
            "behaviour": lambda: behaviour(record, link),
            "descent": lambda: figures.descent(record, _SHOWN, link),
        }
        if name not in makers:
            raise UserError(f"no figure {name[:20]!r}{did_you_mean(name, makers)} (known: {', '.join(makers)})")
        return makers[name]()
