"""One seed gives one run, whatever scores it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from search_parts import INSTANCES, MOOD_TASK, TASK, config, contents, judged

from vulcan.errors import UserError
from vulcan.scoring import WorkerLost
from vulcan.scoring.ray_runtime import RayRuntime
from vulcan.search import session
from vulcan.search.session import Machines, run_search
from vulcan.store import SQLiteStore
from vulcan.store.events import Stopped


class Quiet:
    """Shows nothing, and writes down what was told."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.begun = 0

    def preparing(self, what: str) -> None:
        self.prepared.append(what)

    def begin(self, study: object) -> None:
        self.begun += 1

    def __call__(self, event: object) -> None:
        pass


def searched(path: Path, machines: Machines, **changes: Any) -> tuple[Any, ...]:
    """All that a run's file holds but times, after a search with the offline generator."""
    chosen = config(**{"rounds": 3, "samples": 6, **changes})
    with closing(SQLiteStore(path, create=True)) as store:
        run_search(TASK, chosen, store, INSTANCES, machines, Quiet())
        found = contents(store)
        assert list(store.events())[-1] == Stopped("finished")
        assert len(judged(store)) == 18
    with closing(sqlite3.connect(path)) as db:
        texts = db.execute("SELECT hash, text FROM texts ORDER BY hash").fetchall()
        rows = db.execute("SELECT id, kind, data FROM events ORDER BY id").fetchall()
    return (*found, texts, rows)


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    return searched(tmp_path_factory.mktemp("one") / "run.db", Machines("local", 1))


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_seed_gives_the_same_run(one_worker: tuple[Any, ...], tmp_path: Path, workers: int) -> None:
    assert searched(tmp_path / "run.db", Machines("local", workers)) == one_worker


def test_another_seed_gives_another_run(one_worker: tuple[Any, ...], tmp_path: Path) -> None:
    other = searched(tmp_path / "run.db", Machines("local", 2), seed=2)
    sources = [{e.source for e in run[0] if hasattr(e, "source")} for run in (one_worker, other)]
    assert len(sources[0] - sources[1]) > 9


@pytest.fixture
def ray() -> Iterator[None]:
    """A Ray that the search finds and leaves as it is."""
    with RayRuntime(workers=2) as runtime:
        runtime.wait()
        yield


@pytest.mark.ray
@pytest.mark.usefixtures("ray")
def test_ray_gives_the_same_run(one_worker: tuple[Any, ...], tmp_path: Path) -> None:
    assert searched(tmp_path / "run.db", Machines("ray", 2)) == one_worker


def test_where_ray_cannot_start_one_line_says_so_and_the_search_goes_on(
    one_worker: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import ray

    def fail(**_: Any) -> None:
        raise RuntimeError("no shared memory\non this host")

    monkeypatch.setattr(ray, "init", fail)
    assert searched(tmp_path / "run.db", Machines("ray", 2)) == one_worker
    (message,) = [r.message for r in caplog.records if r.name == "vulcan.search.session"]
    assert message == ("cannot start Ray: RuntimeError: no shared memory on this host; going on with --executor local")


def test_a_cluster_that_cannot_be_joined_is_the_users_to_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def fail(**_: Any) -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setattr(ray, "init", fail)
    with closing(SQLiteStore(tmp_path / "run.db", create=True)) as store:
        with pytest.raises(UserError, match=r"cannot join Ray at 127.0.0.1:1: .*leave out --ray-address"):
            run_search(TASK, config(), store, INSTANCES, Machines("ray", 2, "127.0.0.1:1"), Quiet())
        (stopped,) = [e for e in store.events() if isinstance(e, Stopped)]
        assert stopped.reason == "error"


@pytest.mark.parametrize(
    ("error", "stopped"),
    [
        (KeyboardInterrupt(), Stopped("interrupted")),
        (UserError("your mistake"), Stopped("error", "your mistake")),
        (WorkerLost("machine gone"), Stopped("error", "machine gone")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_store_is_told_why_a_search_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, stopped: Stopped
) -> None:
    class Interrupting(Quiet):
        def __call__(self, event: object) -> None:
            raise error

    with closing(SQLiteStore(tmp_path / "run.db", create=True)) as store:
        with pytest.raises(type(error)):
            run_search(TASK, config(), store, INSTANCES, Machines("local", 1), Interrupting())
        assert list(store.events())[-1] == stopped


def test_the_offline_generator_is_called_what_it_is(one_worker: tuple[Any, ...]) -> None:
    assert {call.model for call in one_worker[1]} == {session.OFFLINE}
    assert {call.dollars for call in one_worker[1]} == {0.0}
    assert config().task == MOOD_TASK
