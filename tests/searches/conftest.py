"""Children that score, shared by the tests of the search: what they score leaves no trace in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vulcan.scoring import Executor, LocalExecutor, Setup


@pytest.fixture(scope="session")
def children() -> Iterator[Executor]:
    """Two jailed evaluators of the task of moods, with the instances of its default settings."""
    from search_parts import INSTANCES, MOOD_TASK

    with LocalExecutor(Setup(MOOD_TASK, INSTANCES), 2) as executor:
        yield executor
