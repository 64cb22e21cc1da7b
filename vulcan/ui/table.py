"""The table of candidates: filtered, sorted and cut into pages where the candidates are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vulcan.errors import UserError, nearest

COLUMNS = ("candidate", "verdict", "score", "origin", "operator", "parents", "size", "operations", "model")
PAGE = 25
"""Candidates on a page."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which candidates, and in what order. `words` all have to be in a line; pages count from 1."""

    words: tuple[str, ...] = ()
    sort: str = "candidate"
    descending: bool = False
    page: int = 1

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Query:
        """Raises UserError for a column or a page that there is not."""
        sort, page = parameters.get("sort", "candidate"), parameters.get("page", "1")
        if sort not in COLUMNS:
            raise UserError(f"no column {sort!r}{nearest(sort, COLUMNS)} (known: {', '.join(COLUMNS)})")
        if not page.isdecimal() or not 0 < int(page) < 10**9:
            raise UserError(f"page {page[:20]!r}: pages are numbered from 1")
        order = parameters.get("order", "up")
        if order not in ("up", "down"):
            raise UserError(f"order {order[:20]!r} is neither up nor down")
        words = tuple(parameters.get("filter", "").lower().split())
        return cls(words, sort, order == "down", int(page))


def page_of(lines: Sequence[Mapping[str, Any]], query: Query) -> dict[str, Any]:
    """One page of the candidates that fit. What has no value in the column comes last, whichever the order."""
    found = list(lines)
    for word in query.words:
        found = [line for line in found if word in line["text"]]
    with_value = [line for line in found if line[query.sort] not in (None, [])]
    without = [line for line in found if line[query.sort] in (None, [])]
    with_value.sort(key=lambda line: line[query.sort], reverse=query.descending)
    ordered = with_value + without
    pages = max(1, -(-len(ordered) // PAGE))
    page = min(query.page, pages)
    shown = ordered[(page - 1) * PAGE : page * PAGE]
    return {
        "columns": COLUMNS,
        "found": len(found),
        "all": len(lines),
        "page": page,
        "pages": pages,
        "candidates": [{name: line[name] for name in (*COLUMNS, "rules")} for line in shown],
    }
