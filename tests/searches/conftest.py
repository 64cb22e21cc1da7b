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


@pytest.fixture(scope="session")
def racers() -> Iterator[Executor]:
    """The same for searches with cheaper scores, on few instances or a crowd of them."""
    from search_parts import CROWD, MOOD_TASK, evidence, racing

    with LocalExecutor(Setup(MOOD_TASK, evidence(racing(settings={"crowd": CROWD})).everything), 2) as executor:
        yield executor


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "VULCAN_MODEL", "VULCAN_API_BASE", "VULCAN_RUNS_DIR", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
