"""Selection of test cases: those run at every commit, and those left to `make test-slow`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

ALL = os.environ.get("VULCAN_TESTS") == "all"


def examples(whole: int) -> int:
    """Return how many examples a test of a law tries: a sixth of what is written at each commit, else all."""
    return whole if ALL else min(whole, max(12, whole // 6))


def slow(*values: Any, id: str | None = None) -> Any:
    """Return a case of a parametrised test that is marked `slow`."""
    return pytest.param(*values, marks=pytest.mark.slow, id=id)


def few(cases: Iterable[Any], count: int) -> list[Any]:
    """The cases of a parametrised test, all but `count` of them marked `slow`; these are spread evenly over the list.

    A tuple is a case of several arguments.
    """
    params = [case if hasattr(case, "marks") else pytest.param(*_several(case)) for case in cases]
    at_commit = [number for number, param in enumerate(params) if pytest.mark.slow.mark not in _marks(param)]
    kept = {at_commit[i * len(at_commit) // count] for i in range(count)} if count < len(at_commit) else set(at_commit)
    return [
        param if number in kept or number not in at_commit else slow(*param.values, id=param.id)
        for number, param in enumerate(params)
    ]


def _several(case: Any) -> tuple[Any, ...]:
    return case if type(case) is tuple else (case,)


def _marks(param: Any) -> list[pytest.Mark]:
    return [getattr(mark, "mark", mark) for mark in param.marks]
