"""Whether a reply is to give the whole program or a diff: by what the model has been seen to handle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from vulcan.searches.population import Attempt
from vulcan.searches.strategies.draft import Form

DiffPolicy = Literal["auto", "never", "always"]

_TRIALS = 6
"""Diff replies that are seen before they are judged."""

_TRYING = 0.2
_PREFERRED = 0.7
_AVOIDED = 0.05
"""The share of diffs while they are tried, when they do as well as whole programs, and when they do not."""

_AS_WELL = 0.95
_UNANSWERED = ("no-reply",)
_UNUSABLE = ("rejected",)


def choose_form(policy: DiffPolicy, attempts: Sequence[Attempt], rng: random.Random) -> Form:
    """The form of the next reply.

    Under `auto` whole programs are asked for until some have come, then a few diffs, and then mostly diffs as long as
    the share of first replies that hold a usable program is about as high with them: weak models do better with whole
    programs.
    """
    if policy != "auto":
        return "diff" if policy == "always" else "full"
    return "diff" if rng.random() < _share_of_diffs(attempts) else "full"


def _share_of_diffs(attempts: Sequence[Attempt]) -> float:
    full = usable_share(attempts, "full")
    if full is None:
        return 0.0
    diffs = usable_share(attempts, "diff")
    if diffs is None:
        return _TRYING
    return _PREFERRED if diffs >= _AS_WELL * full else _AVOIDED


def usable_share(attempts: Sequence[Attempt], form: Form) -> float | None:
    """The share of first replies in a form that held a usable program; None while too few have come."""
    first = [a for a in attempts if a.form == form and a.turn == 0 and a.verdict not in _UNANSWERED]
    if len(first) < _TRIALS:
        return None
    return sum(a.verdict not in _UNUSABLE for a in first) / len(first)
