"""The two executors are one thing: the same outcomes, order and errors."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from locations import SUPPORT
from scoring_toys import MIN, TOY_TASK, StandIn, Toy

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.scoring import Executor, Job, Limits, LocalExecutor, Outcome, Setup, WorkerLost
from vulcan.scoring.local_pool import TRIES, Pool
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime

TOY = Toy("where_it_runs", "spin", "segfault", "raise_an_error", "nan", "allocate_in_steps", "not_json", "doze")
Make = Callable[..., Executor]


EITHER = ["local", pytest.param("ray", marks=pytest.mark.ray)]


def opened(request: pytest.FixtureRequest, setup: Setup = TOY.setup, workers: int = 2) -> Executor:
    """An executor of the kind that the request's parameter names."""
    if request.param == "local":
        return LocalExecutor(setup, workers)
    return RayExecutor(setup, workers, request.getfixturevalue("ray_runtime"))


@pytest.fixture(params=EITHER)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes an executor of either kind, and closes it."""
    with ExitStack() as made:
        yield lambda *arguments, **options: made.enter_context(opened(request, *arguments, **options))


def mixed_jobs() -> list[Job]:
    policies = [MIN, "def decide(load, room):\n    return load / (room + 1)\n", "while True:\n    pass\n"]
    jobs = [TOY.job("honest", kind, source=source) for source in policies for kind in ("honest", "nan")]
    jobs += [TOY.job(kind) for kind in ("raise_an_error", "segfault", "not_json", "allocate_in_steps")]
    jobs += [TOY.job("spin", limit=0.2), TOY.job("honest")]
    return [replace(job, id=number) for number, job in enumerate(jobs)]


def without_time(outcomes: list[Outcome]) -> list[Outcome]:
    return [replace(outcome, seconds=0.0) for outcome in outcomes]


def run_all(executor: Executor, jobs: list[Job]) -> list[Outcome]:
    return [future.result() for future in [executor.submit(job) for job in jobs]]


@pytest.fixture(scope="class", params=EITHER)
def both(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with opened(request) as executor:
        yield executor


class TestOneExecutor:
    """With two workers, for several tests."""

    def test_both_satisfy_the_contract(self, both: Executor) -> None:
        assert isinstance(both, Executor)
        assert both.workers == 2
        assert both.name in ("local", "ray")

    def test_a_hundred_jobs_come_back_each_as_its_own(self, both: Executor) -> None:
        sources = [f"def decide(load, room):\n    return {number}\n" for number in range(100)]
        jobs = [TOY.job("honest", id=number, source=source) for number, source in enumerate(sources)]
        outcomes = run_all(both, jobs)
        assert [(outcome.job, outcome.metrics[0][1]["sum"]) for outcome in outcomes] == [
            (n, 11.0 * n) for n in range(100)
        ]

    def test_a_job_that_does_not_fit_the_set_up_is_refused(self, both: Executor) -> None:
        stranger = Instance("stranger", "train", {})
        changed = replace(TOY.instances["honest"], parameters={"kind": "nan"})
        for instance in (stranger, changed):
            with pytest.raises(ValueError, match="is not part of the set-up"):
                both.submit(Job(1, MIN, (instance,), 1.0))
        for limit in (0.0, -1.0, 1e6, float("nan")):
            with pytest.raises(ValueError, match=r"limit .* s is not in"):
                both.submit(TOY.job("honest", limit=limit))


@pytest.mark.slow
@pytest.mark.ray
def test_outcomes_are_the_same_on_both_and_with_any_number_of_workers(ray_runtime: RayRuntime) -> None:
    with LocalExecutor(TOY.setup, 1) as one, LocalExecutor(TOY.setup, 2) as two:
        expected = without_time(run_all(one, mixed_jobs()))
        assert without_time(run_all(two, mixed_jobs())) == expected
    with RayExecutor(TOY.setup, 2, ray_runtime) as ray:
        assert without_time(run_all(ray, mixed_jobs())) == expected
    assert [outcome.status for outcome in expected] == [
        *("scored", "failed", "scored", "failed", "rejected", "rejected"),
        *("failed", "crashed", "crashed", "memory", "timeout", "scored"),
    ]
    assert [outcome.metrics[0][1]["sum"] for outcome in (expected[0], expected[2])] == [
        25.0,
        pytest.approx(22.21865, abs=1e-5),
    ]


def test_closing_cancels_what_runs_and_what_waits(make: Make) -> None:
    executor = make(workers=1)
    futures = [executor.submit(TOY.job("spin", limit=600)) for _ in range(3)]
    executor.close()
    executor.close()
    for future in futures:
        with pytest.raises(CancelledError):
            future.result()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(TOY.job("honest"))


def test_a_set_up_that_fails_later_is_no_outcome(make: Make, tmp_path: Path) -> None:
    pack = tmp_path / "toy_task"
    pack.mkdir()
    for part in ("task.py", "vulcan_toy_evaluator.py"):
        (pack / part).symlink_to(Path(TOY_TASK, part))
    executor = make(replace(TOY.setup, task=str(pack)), workers=1)
    assert executor.submit(TOY.job("honest")).result().status == "scored"
    (pack / "task.py").unlink()
    with pytest.raises(UserError, match="no task at"):
        executor.submit(TOY.job("segfault")).result()


def test_a_job_that_loses_its_worker_is_run_again_a_bounded_number_of_times() -> None:
    with Pool("test", TOY.setup, [StandIn(TRIES - 1)]) as pool:
        assert pool.submit(TOY.job("honest")).result().status == "scored"
    with Pool("test", TOY.setup, [StandIn(TRIES)]) as pool:
        with pytest.raises(WorkerLost):
            pool.submit(TOY.job("honest")).result()
        assert pool.submit(TOY.job("honest")).result().status == "scored"
    with Pool("test", TOY.setup, [StandIn(10**6), StandIn(0)]) as pool:
        assert {future.result().status for future in [pool.submit(TOY.job("honest")) for _ in range(9)]} == {"scored"}


def test_a_job_lost_by_one_worker_waits_for_another() -> None:
    broken, sound = StandIn(10**6), StandIn(waits=True)
    with Pool("test", TOY.setup, [broken, sound]) as pool:
        futures = [pool.submit(TOY.job("honest")) for _ in range(2)]
        while not broken.calls:
            time.sleep(0.01)
        time.sleep(0.1)  # enough for `broken` to lose the job as often as a job may be lost
        sound.may_begin.set()
        assert [future.result().status for future in futures] == ["scored", "scored"]
    assert len(broken.calls) <= 2  # once a job


def test_a_worker_that_cannot_be_set_up_any_more_is_replaced_by_another() -> None:
    """One host has lost its traces: the job goes to another one. Where none has them the user is told."""
    error = UserError("no such trace")
    with Pool("test", TOY.setup, [StandIn(2, error), StandIn(0)]) as pool:
        assert {future.result().status for future in [pool.submit(TOY.job("honest")) for _ in range(9)]} == {"scored"}
    with Pool("test", TOY.setup, [StandIn(TRIES, error)]) as pool, pytest.raises(UserError, match="no such"):
        pool.submit(TOY.job("honest")).result()


@pytest.mark.ray
def test_a_job_whose_ray_worker_is_killed_is_run_again(ray_runtime: RayRuntime) -> None:
    with RayExecutor(TOY.setup, 1, ray_runtime) as executor:
        (worker,) = executor.actors
        actor, child = worker.processes()
        future = executor.submit(TOY.job("doze"))
        wait_for_sleep(child)
        os.kill(actor, signal.SIGKILL)
        outcome = future.result()
        assert (outcome.status, outcome.metrics[0][1]["sum"]) == ("scored", 25.0)
        assert not Path(f"/proc/{child}").exists()
        assert set(worker.processes()).isdisjoint({actor, child})


def wait_for_sleep(pid: int) -> None:
    clock_nanosleep = {"x86_64": "230", "aarch64": "115"}[os.uname().machine]
    while Path(f"/proc/{pid}/syscall").read_text().split()[0] != clock_nanosleep:
        pass


@contextmanager
def another_process(code: str, **environment: str) -> Iterator[subprocess.Popen]:
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=SUPPORT,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


JOINING = """
from ray._private import ray_constants
from scoring_toys import Toy
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime
ray_constants.ENABLE_RAY_CLUSTER = False  # a Ray on the loopback interface is joined from there
toy = Toy()
with RayRuntime(workers=1) as runtime, RayExecutor(toy.setup, 1, runtime) as executor:
    outcome = executor.submit(toy.job("honest")).result()
    assert outcome.status == "scored", outcome
    print(runtime.joined)
"""


@pytest.mark.ray
def test_the_variable_ray_address_names_the_cluster_to_join_and_nothing_is_printed(ray_runtime: RayRuntime) -> None:
    """With the token that the environment names for it."""
    ray = ray_runtime.wait()
    address = ray.get_runtime_context().gcs_address
    token = ray.get(ray.remote(lambda: os.environ["RAY_AUTH_TOKEN"]).remote())
    access = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    with another_process(JOINING, **access) as process:
        output, errors = process.communicate(timeout=60)
    assert (output, process.returncode) == (f"{address}\n", 0), errors


UNAVAILABLE = """
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable
with RayRuntime(workers=1, address={address!r}, limit={limit}) as runtime:
    try:
        runtime.wait()
    except RayUnavailable as error:
        print(error)
"""


@pytest.mark.ray
@pytest.mark.parametrize(
    ("address", "limit", "directory", "message"),
    [
        (None, 0.01, None, "Ray was not up after 0.01 s"),
        ("127.0.0.1:1", 50, None, "cannot join Ray at 127.0.0.1:1: ConnectionRefusedError: "),
        (None, 30, "/proc/nowhere", "cannot start Ray: "),
        ("no such address", 30, None, "cannot join Ray at no such address: ValueError: "),
    ],
)
def test_a_ray_that_does_not_start_is_reported_in_one_line(
    address: str | None, limit: float, directory: str | None, message: str
) -> None:
    environment = {"RAY_TMPDIR": directory} if directory else {}
    with another_process(UNAVAILABLE.format(address=address, limit=limit), **environment) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert output.startswith(message)
    assert output.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the search probes memory by a system call of Linux")
def test_a_candidate_finds_no_mark_of_an_earlier_one_in_its_memory(make: Make) -> None:
    """The two run, as if they had broken out of their language, in processes of one evaluator's template."""
    kinds = {kind: Instance(kind, "train", {"kind": kind}) for kind in ("leave marks", "find marks")}
    server = Instance("server", "train", {"prepare": "marks"})
    setup = Setup(TOY_TASK, (server, *kinds.values()), Limits(memory_bytes=512 << 20))
    with make(setup, 1) as executor:
        left, found = run_all(executor, [Job(n, MIN, (one,), 600.0) for n, one in enumerate(kinds.values(), 1)])
    assert (left.status, found.status) == ("scored", "scored"), (left, found)
    ((_, marks),) = found.metrics
    assert marks["of others"] == 0 and marks["its own"] > 0 and marks["bytes"] > 1 << 20


def test_scoring_does_not_import_ray_or_numba() -> None:
    code = """
import sys
import time
import vulcan.scoring, vulcan.scoring.ray_executor
print({"ray", "numba", "llvmlite"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
