"""What a child sees, what it can do, and when it dies."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from scoring_toys import TOY_TASK, Toy
from waiting import wait_for_end, wait_until

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.scoring import JailedEvaluator, Limits, Setup
from vulcan.scoring.sandbox.processes import is_alive

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="these defences are Linux's")

TOY = Toy("forbidden_things", "environment", "descriptors", "where_it_runs", "doze", "spin")


@pytest.fixture(scope="module")
def jailed() -> Iterator[JailedEvaluator]:
    evaluator = JailedEvaluator(TOY.setup)
    yield evaluator
    evaluator.close()


def measured(kind: str, toy: Toy = TOY) -> dict[str, float]:
    evaluator = JailedEvaluator(toy.setup)
    outcome = evaluator.run(toy.job(kind))
    evaluator.close()
    assert outcome.status == "scored", outcome
    return outcome.metrics[0][1]


@on_linux
def test_all_defences_hold_here(jailed: JailedEvaluator) -> None:
    defences = jailed.start()
    assert defences.notes == ()
    assert defences.landlock >= 1
    assert defences.seccomp and defences.no_new_privileges and defences.parent_death_signal
    assert {"RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_CORE"} <= set(
        defences.limits
    )


@on_linux
def test_what_attacks_of_the_doctor_do_not_try_is_denied(jailed: JailedEvaluator) -> None:
    """Files, sockets, processes and signals are attacked in an evaluator in tests/doctor."""
    ((_, errors),) = jailed.run(TOY.job("forbidden_things")).metrics
    # Python reports a refused limit without an error number
    assert errors == {**dict.fromkeys(("stat", "pipe", "chdir"), errno.EPERM), "raise own limits": -1.0}


def test_machine_code_is_made_in_the_jail() -> None:
    assert measured("machine_code", Toy(first="machine_code")) == {"sum": 25.0}


def test_a_child_inherits_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("https_proxy", "http://user:password@proxy")
    seen = measured("environment")
    names = {variable.partition("=")[0] for variable in seen}
    assert names - {"HOME", "TMPDIR", "LD_LIBRARY_PATH", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {
        "PATH", "LC_ALL", "PYTHONPATH", "PYTHONHASHSEED", "VULCAN_CACHE_DIR", "NUMBA_CACHE_DIR", "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    }  # fmt: skip
    assert not any("secret" in variable or "password" in variable for variable in seen)


def test_a_child_has_no_descriptor_but_its_own_four(tmp_path: Path) -> None:
    with (tmp_path / "of the parent").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        assert len(measured("descriptors")) == 4


def test_a_hundred_jobs_share_one_child() -> None:
    evaluator = JailedEvaluator(TOY.setup)
    pids = {evaluator.run(TOY.job("where_it_runs", id=n)).metrics[0][1]["pid"] for n in range(100)}
    assert pids == {evaluator.pid}
    evaluator.close()
    assert evaluator.pid is None


def test_a_child_is_replaced_after_its_share_of_jobs() -> None:
    toy = Toy("where_it_runs", jobs_per_child=3)
    evaluator = JailedEvaluator(toy.setup)
    pids = [evaluator.run(toy.job("where_it_runs")).metrics[0][1]["pid"] for _ in range(7)]
    evaluator.close()
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]


def test_a_child_is_replaced_before_its_processor_time_could_run_out() -> None:
    toy = Toy("where_it_runs", "doze", cpu_seconds=10)
    evaluator = JailedEvaluator(toy.setup)
    first = evaluator.run(toy.job("where_it_runs", limit=9.9)).metrics[0][1]["pid"]
    evaluator.run(toy.job("doze", limit=9.9))
    after = evaluator.run(toy.job("where_it_runs", limit=9.9)).metrics[0][1]["pid"]
    evaluator.close()
    assert first != after


@on_linux
def test_a_child_has_a_limit_of_processor_time() -> None:
    toy = Toy("spin", cpu_seconds=1)
    evaluator = JailedEvaluator(toy.setup)
    evaluator.start()
    limits = Path(f"/proc/{evaluator.pid}/limits").read_text().splitlines()
    evaluator.close()
    (soft, hard) = next(line.split()[3:5] for line in limits if line.startswith("Max cpu time"))
    # a second for the job, one for rounding, and what the set-up took
    assert soft == hard
    assert 2 <= int(soft) <= 30


@on_linux
@pytest.mark.parametrize("end", ["timeout", "close"])
def test_helpers_of_an_evaluator_die_with_it(end: str) -> None:
    instances = (
        Instance("honest", "train", {"prepare": "helper"}),
        Instance("helper", "train", {"kind": "helper"}),
        Instance("spin", "train", {"kind": "spin"}),
    )
    toy = Toy()
    toy.instances = {instance.name: instance for instance in instances}
    toy.setup = Setup(TOY_TASK, instances)
    evaluator = JailedEvaluator(toy.setup)
    pids = evaluator.run(toy.job("helper")).metrics[0][1]
    child, helper = int(pids["pid"]), int(pids["helper"])
    assert is_alive(child) and is_alive(helper)
    assert os.getpgid(helper) == child
    if end == "timeout":
        assert evaluator.run(toy.job("spin", limit=0.2)).status == "timeout"
    else:
        evaluator.close()
    assert wait_for_end((child, helper))
    evaluator.close()


@on_linux
def test_a_job_whose_child_is_killed_from_outside_is_run_again() -> None:
    evaluator = JailedEvaluator(TOY.setup)
    evaluator.start()
    first = evaluator.pid
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(evaluator.run(TOY.job("doze"))))
    thread.start()
    asleep = {"x86_64": "230", "aarch64": "115"}[os.uname().machine]  # clock_nanosleep
    assert wait_until(lambda: Path(f"/proc/{first}/syscall").read_text().split()[0] == asleep)
    os.kill(first, signal.SIGKILL)
    thread.join()
    assert evaluator.pid != first
    evaluator.close()
    assert (outcomes[0].status, outcomes[0].metrics[0][1]["sum"]) == ("scored", 25.0)


@pytest.mark.parametrize(
    ("task", "prepare", "message"),
    [
        ("./no/such/task", "", "no task at no/such/task"),
        (TOY_TASK, "user_error", "^no such trace: give another$"),
        (TOY_TASK, "bug", r"'vulcan_toy_evaluator:ToyEvaluator' does not prepare: ZeroDivisionError: in prepare$"),
        (TOY_TASK, "die", "its evaluator did not get ready, its process was killed by SIGABRT: the last words$"),
        (TOY_TASK, "hang", "its evaluator was not ready after 2 s$"),
    ],
)
def test_a_set_up_that_fails_is_a_users_error(task: str, prepare: str, message: str) -> None:
    limits = Limits(setup_seconds=2.0 if prepare == "hang" else 60.0)
    setup = Setup(task, (Instance("honest", "train", {"prepare": prepare}),), limits)
    evaluator = JailedEvaluator(setup)
    with pytest.raises(UserError, match=message) as caught:
        evaluator.start()
    assert "\n" not in str(caught.value)
    assert evaluator.pid is None


def test_a_warm_up_run_that_fails_is_a_users_error() -> None:
    evaluator = JailedEvaluator(Setup(TOY_TASK, (Instance("bad", "train", {"kind": "nan"}),)))
    with pytest.raises(UserError, match="its warm-up run is failed: bad: BadResult: sum is nan"):
        evaluator.start()
