"""What the tests of faults share: a recorded search, and the parts of other tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from vulcan.scoring import Executor

if TYPE_CHECKING:
    from whole_runs import Runs


@pytest.fixture(scope="session")
def runs(racers: Executor, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A whole search with everything in it, recorded, and copies of it to damage."""
    from whole_runs import Runs

    return Runs.recorded(tmp_path_factory.mktemp("whole"), racers)


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a search of the command line holds when nothing disturbs it."""
    from chat_server import ChatServer
    from console import Console
    from disturbed import SEARCH, Model, held, only_run

    console = Console(tmp_path_factory.mktemp("calm"))
    with ChatServer(Model()) as server:
        console.good(*SEARCH, "--api-base", server.url)
    return held(only_run(console))
