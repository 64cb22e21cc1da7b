"""Short jobs travel together, and nobody can tell from what comes back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_toys import MIN, StandIn, Toy

from vulcan.errors import UserError
from vulcan.scoring import Outcome, WorkerLost
from vulcan.scoring.job import JobRequest
from vulcan.scoring.local_pool import Pool
from vulcan.scoring.ray_executor import BATCH_SECONDS, MAX_JOBS, BatchSizer

TOY = Toy("honest", "nan", "segfault")


@given(work=st.floats(1e-4, 0.5), waiting=st.integers(1, 500), workers=st.integers(1, 64))
def test_a_batch_has_the_wanted_work_or_a_worker_s_share_of_the_queue(work: float, waiting: int, workers: int) -> None:
    batching, request = BatchSizer(), JobRequest(1, MIN, (0,), 1.0)
    assert batching.size([request] * waiting, workers) == 1
    batching.learn([request] * 5, [Outcome(1, "scored", (), "", work)] * 5)
    most = min(MAX_JOBS, -(-waiting // workers))
    size = batching.size([request] * waiting, workers)
    assert 1 <= size <= most
    assert size == most or size * work >= BATCH_SECONDS * (1 - 1e-9)
    assert (size - 1) * work < BATCH_SECONDS


class ByFives(Pool):
    def size_of_batch(self, waiting: Sequence[JobRequest]) -> int:
        return 5


def test_each_job_gets_its_own_outcome_once() -> None:
    worker = StandIn(waits=True)
    with ByFives("test", TOY.setup, [worker]) as pool:
        futures = [pool.submit(TOY.job("honest", id=number)) for number in range(23)]
        worker.may_begin.set()
        assert [future.result(60).job for future in futures] == list(range(23))
    assert [job for call in worker.calls for job in call] == list(range(23))
    assert len(worker.calls) < 10


@pytest.mark.parametrize("error", [WorkerLost("gone"), UserError("no such trace")])
def test_of_a_batch_that_is_lost_each_job_is_run_alone_and_one_alone_is_to_blame(error: Exception) -> None:
    worker = StandIn(error=error, on_jobs=[8], waits=True)
    with ByFives("test", TOY.setup, [worker]) as pool:
        futures = [pool.submit(TOY.job("honest", id=number)) for number in range(12)]
        worker.may_begin.set()
        with pytest.raises(type(error)):
            futures[8].result(60)
        assert [future.result(60).job for future in futures if future is not futures[8]] == [*range(8), *range(9, 12)]


def test_a_job_that_is_cancelled_while_it_waits_is_not_run() -> None:
    worker = StandIn(waits=True)
    with ByFives("test", TOY.setup, [worker]) as pool:
        futures = [pool.submit(TOY.job("honest", id=number)) for number in range(12)]
        assert futures[11].cancel()
        worker.may_begin.set()
        assert [future.result(60).job for future in futures[:11]] == list(range(11))
    assert 11 not in [job for call in worker.calls for job in call]
