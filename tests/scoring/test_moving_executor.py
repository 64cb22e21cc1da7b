"""Scoring that begins in local processes and moves to Ray: no outcome changes, and it may be closed at any time."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Any

import pytest
from scoring_toys import Toy

from vulcan.scoring import Job, LocalExecutor, Outcome, moving_executor
from vulcan.scoring.moving_executor import MovingExecutor
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable

TOY = Toy("honest", "nan", "segfault", "doze")


def jobs(first: int) -> list[Job]:
    return [TOY.job(kind, id=first + number) for number, kind in enumerate(("honest", "nan", "segfault"))]


def outcomes(executor: Any, asked: list[Job]) -> list[Outcome]:
    return [replace(future.result(), seconds=0.0) for future in [executor.submit(job) for job in asked]]


@pytest.mark.ray
@pytest.mark.usefixtures("ray_runtime")
def test_jobs_come_to_the_same_before_and_after_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_executor, "LOCAL_SECONDS", 0.0)
    said: list[str] = []
    with LocalExecutor(TOY.setup, 1) as local:
        expected = outcomes(local, jobs(0))
    with MovingExecutor(TOY.setup, 1, said.append) as executor:
        before = [executor.submit(job) for job in jobs(0)]
        assert executor.name == "local"
        assert [replace(future.result(), seconds=0.0) for future in before] == expected
        until = time.monotonic() + 120
        while executor.name == "local" and time.monotonic() < until:
            time.sleep(0.05)
        assert executor.name == "ray"
        assert outcomes(executor, jobs(0)) == expected
        running = executor.submit(TOY.job("doze", id=9))
    assert said == [
        "starting Ray; until it is up, scoring continues in processes of this host",
        "scoring continues in Ray",
    ]
    assert running.done()


class NeverUp(RayRuntime):
    """A Ray that is still starting when it is given up."""

    def _connect(self) -> bool:
        self._leave.wait(60)
        self._failure = "it was never up"
        return False


def test_a_search_that_ends_while_ray_starts_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_executor, "LOCAL_SECONDS", 0.0)
    monkeypatch.setattr(moving_executor, "RayRuntime", NeverUp)
    with MovingExecutor(TOY.setup, 1, lambda _: None) as executor:
        assert executor.submit(TOY.job("honest")).result().status == "scored"
        while executor._runtime is None:
            time.sleep(0.01)
    executor.close()
    assert not executor._mover.is_alive()
    assert executor._runtime.abandoned.is_set()


def test_where_ray_does_not_start_scoring_stays_local(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RayUnavailable("cannot start Ray: no shared memory")

    monkeypatch.setattr(moving_executor, "LOCAL_SECONDS", 0.0)
    monkeypatch.setattr(moving_executor, "RayRuntime", NeverUp)
    monkeypatch.setattr(moving_executor, "RayExecutor", fail)
    with caplog.at_level(logging.WARNING), MovingExecutor(TOY.setup, 1, lambda _: None) as executor:
        assert executor.submit(TOY.job("honest")).result().status == "scored"
        executor._mover.join()
        assert executor.submit(TOY.job("honest")).result().status == "scored"
        assert executor.name == "local"
    assert [record.message for record in caplog.records] == [
        "cannot start Ray: no shared memory; continuing with --executor local"
    ]


def test_a_short_search_starts_no_ray() -> None:
    with MovingExecutor(TOY.setup, 1, lambda _: None) as executor:
        assert executor.submit(TOY.job("honest")).result().status == "scored"
    assert executor._runtime is None
