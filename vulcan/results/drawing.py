"""The figures of a run by their names, as its report, its live page and a notebook draw them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vulcan.results.behaviour_map import behaviour
from vulcan.results.figures import Link, best_score, by_instance, constants, descent, no_link, tradeoff
from vulcan.searches.options import check_choice
from vulcan.store import RunRecord
from vulcan.svg import Figure


def draw(
    name: str, record: RunRecord, candidate: int | None = None, *, best: int = 1, link: Link = no_link
) -> Figure | None:
    """Draw a figure, about a candidate or else the best one; None where too little has a score.

    The descent is that of the `best` candidates. Raises UserError.
    """
    figures: Mapping[str, Callable[[], Figure | None]] = {
        "progress": lambda: best_score(record, candidate, link),
        "instances": lambda: by_instance(record, candidate),
        "behaviour": lambda: behaviour(record, link),
        "constants": lambda: constants(record, candidate),
        "descent": lambda: descent(record, best, link),
        "size": lambda: tradeoff(record, "size", link),
        "operations": lambda: tradeoff(record, "operations", link),
    }
    check_choice("figure", name, figures)
    return figures[name]()
