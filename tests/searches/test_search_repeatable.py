"""One seed and the same replies give one run, however much is done at a time and whatever scores it."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from effort import slow
from executors import BackwardsWhenIdle
from rich_parts import Quiet, answer, rich, search
from search_parts import SEEDS, TASK, Scripted, config, contents, evidence, judged, lineup, opened

from vulcan.errors import UserError
from vulcan.models.base import Request
from vulcan.scoring import Executor, WorkerLost
from vulcan.searches.session import ExecutionConfig, RunDisplay, executor_for, run_search
from vulcan.store import MemoryStore, SQLiteStore
from vulcan.store.events import Event, RunStopped

OFFLINE = ("offline/evolve",)


# A language model by script, on one executor


def answered(executor: Any, parallel: int, by: Callable[[Request], str | None] = answer) -> Any:
    store = MemoryStore()
    opened(store, rich(), executor).run(lineup(Scripted(by)), parallel=parallel)
    return contents(store)


@pytest.fixture(scope="module")
def one_by_one(racers: Executor) -> Any:
    return answered(racers, 1)


@pytest.mark.parametrize("parallel", [slow(2), 6])
def test_it_does_not_matter_how_much_is_done_at_a_time(one_by_one: Any, racers: Executor, parallel: int) -> None:
    assert answered(racers, parallel) == one_by_one


def test_it_does_not_matter_in_which_order_scores_come(one_by_one: Any, racers: Executor) -> None:
    backwards = BackwardsWhenIdle(racers, holds=lambda job: job.id > SEEDS and job.probe)
    try:
        assert answered(backwards, 4) == one_by_one
    finally:
        backwards.close()
    assert backwards.finished != sorted(backwards.finished)


@pytest.mark.parametrize("seed", [1, slow(2)])
def test_it_does_not_matter_in_which_order_replies_come(one_by_one: Any, racers: Executor, seed: int) -> None:
    """Every reply of a pair waits for the other one, and then a random one goes first."""
    rng, lock, waiting = random.Random(seed), threading.Lock(), threading.Semaphore(0)
    late: set[int] = set(rng.sample(range(SEEDS + 1, SEEDS + 30), 12))
    order: list[int] = []

    def by(request: Request) -> str | None:
        if request.turn == 0 and request.proposal in late:
            waiting.acquire(timeout=0.3)  # until another one has answered, if one is on its way
        else:
            waiting.release()
        with lock:
            order.append(request.proposal)
        return answer(request)

    assert answered(racers, 5, by) == one_by_one
    assert order != sorted(order)


# The offline generator, as the command line runs it


def searched(path: Path, machines: ExecutionConfig, **changes: Any) -> tuple[Any, ...]:
    """All that a run's file holds but times, after a search with the offline generator.

    Calls lie in the log as they end, with their times: `contents` has them in order and without.
    """
    chosen = rich(**{"model": OFFLINE, "rounds": 3, "samples": 6, **changes})
    with closing(SQLiteStore(path, create=True)) as store:
        run_search(TASK, chosen, store, evidence(chosen), machines, Quiet())
        assert list(store.events())[-1] == RunStopped("finished")
        assert len([v for v in judged(store) if v.origin == "model"]) == 18
        found = contents(store)
    with closing(sqlite3.connect(path)) as db:
        texts = db.execute("SELECT hash, text FROM texts ORDER BY hash").fetchall()
        rows = db.execute("SELECT kind, data FROM events WHERE kind != 'CallRecord' ORDER BY id").fetchall()
    return (*found, texts, rows)


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    return searched(tmp_path_factory.mktemp("one") / "run.db", ExecutionConfig("local", 1))


@pytest.mark.ray
@pytest.mark.usefixtures("ray_runtime")
def test_ray_gives_the_same_run(one_worker: tuple[Any, ...], tmp_path: Path) -> None:
    """A Ray that the search finds and leaves as it is."""
    assert searched(tmp_path / "run.db", ExecutionConfig("ray", 2)) == one_worker


def test_where_ray_cannot_start_one_line_says_so_and_the_search_goes_on(
    one_worker: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import ray

    def fail(**_: Any) -> None:
        raise RuntimeError("no shared memory\non this host")

    monkeypatch.setattr(ray, "init", fail)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # whatever other tests of this process left
    assert searched(tmp_path / "run.db", ExecutionConfig("ray", 2)) == one_worker
    (message,) = [r.message for r in caplog.records if r.name == "vulcan.searches.session"]
    assert message.startswith("cannot start Ray: RuntimeError: no shared memory on this host; continuing with")


@pytest.mark.parametrize("named_by", ["--ray-address", "RAY_ADDRESS"])
def test_a_cluster_that_cannot_be_joined_is_the_users_to_mend(named_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # whatever other tests of this process left
    store, chosen = MemoryStore(), config(model=OFFLINE)
    if named_by == "RAY_ADDRESS":
        monkeypatch.setenv(named_by, "127.0.0.1:1")
    machines = ExecutionConfig(workers=2, ray_address="127.0.0.1:1" if named_by == "--ray-address" else None)
    with pytest.raises(UserError, match=rf"cannot join Ray at 127.0.0.1:1: .*refused.*{named_by}"):
        run_search(TASK, chosen, store, evidence(chosen), machines, Quiet())
    (stopped,) = [e for e in store.events() if isinstance(e, RunStopped)]
    assert stopped.reason == "error"


@pytest.mark.parametrize(
    ("error", "stopped"),
    [
        (KeyboardInterrupt(), RunStopped("interrupted")),
        (UserError("your mistake"), RunStopped("error", "your mistake")),
        (WorkerLost("machine gone"), RunStopped("error", "machine gone")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_store_is_told_why_a_search_stopped(error: BaseException, stopped: RunStopped, children: Executor) -> None:
    def interrupt(_: Event) -> None:
        raise error

    store = MemoryStore()
    with pytest.raises(type(error)):
        search(config(), store, children, display=Quiet(interrupt))
    assert list(store.events())[-1] == stopped


def test_ray_is_not_started_on_one_host_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("vulcan.scoring.ray_runtime.RayRuntime", None)
    with executor_for(config(), evidence(config()), ExecutionConfig(), lambda: None, RunDisplay()) as executor:
        assert executor.name == "local"
