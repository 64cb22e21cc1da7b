"""What the tests of the documentation share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console
from docs_shell import write_trace
from locations import few_starts

SHORT = ("--budget-candidates", "4", "--tune", "0", "--simplify", "0", "--executor", "local", "--workers", "1", "-q")


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Gives the directory of a short search over and over; the search runs when the first asks."""
    return _runs(tmp_path_factory.mktemp("finished"))


def _runs(directory: Path) -> Iterator[Path]:
    write_trace(directory / "my-trace.csv")
    trace = ("--trace", "my-trace.csv", "--columns", "time=1,id=2,size=3")
    Console(directory).good("search", "--task", few_starts(kept=("fifo", "lfu", "lru", "w_tinylfu")), *trace, *SHORT)
    (run,) = (directory / "runs").iterdir()
    while True:
        yield run
