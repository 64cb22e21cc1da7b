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
from vulcan.scoring.local_pool import Pool, Worker
from vulcan.scoring.ray_executor import MAX, MAX_JOBS, OVERHEAD, BatchSizer, CallOverhead

TOY = Toy("honest", "nan", "segfault")


def request(number: int = 1, instances: tuple[int, ...] = (0,)) -> JobRequest:
    return JobRequest(number, MIN, instances, 1.0)


def outcome(seconds: float) -> Outcome:
    return Outcome(1, "scored", (), "", seconds)


def taught(way: CallOverhead, work: float, sizes: Sequence[int] = (1,)) -> BatchSizer:
    batching = BatchSizer()
    for count in [*sizes] * 5:
        batching.learn([request()] * count, [outcome(work)] * count, way.call + way.job * count + work * count)
    return batching


@given(
    call=st.floats(1e-4, 0.02),
    job=st.floats(0, 0.002),
    work=st.floats(1e-4, 0.5),
    waiting=st.integers(1, 500),
    workers=st.integers(1, 64),
)
def test_the_way_takes_its_share_at_most_where_enough_waits(
    call: float, job: float, work: float, waiting: int, workers: int
) -> None:
    most = min(MAX_JOBS, -(-waiting // workers))
    size = taught(CallOverhead(call, job), work, (1, 8)).size([request()] * waiting, workers)
    assert 1 <= size <= most
    if size < most and size * work < MAX * (1 - 1e-9):  # else there was not enough to carry, or it is enough
        assert (call + job * size) / (size * work) <= OVERHEAD * (1 + 1e-6)
    if size > 1:  # and no more travel together than it takes
        fewer = size - 1
        assert (call + job * fewer) / (fewer * work) > OVERHEAD * (1 - 1e-6)
        assert fewer * work < MAX * (1 + 1e-9)


@given(call=st.floats(0, 0.02), job=st.floats(0, 0.002), sizes=st.lists(st.integers(1, 64), min_size=2, max_size=15))
def test_calls_of_several_sizes_tell_what_a_job_adds(call: float, job: float, sizes: list[int]) -> None:
    way = CallOverhead.of([(count, call + job * count) for count in sizes])
    if max(sizes) >= 2 * min(sizes):
        assert (way.call, way.job) == (pytest.approx(call, abs=1e-9), pytest.approx(job, abs=1e-9))
    else:
        assert way.job == 0


class ByFives(Pool):
    def size_of_batch(self, waiting: Sequence[JobRequest]) -> int:
        return 5

    def serve_on(self, worker: Worker, requests: Sequence[JobRequest]) -> list[Outcome]:
        assert isinstance(worker, StandIn)
        return worker.serve_all(requests)


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
