"""A job may ask for the digest of a candidate's decisions, which comes from inside the jail as scores do."""

from collections.abc import Iterator

import pytest
from scoring_toys import MIN, Toy

from vulcan.scoring import Executor, JailedEvaluator, LocalExecutor
from vulcan.scoring.ray_executor import RayExecutor

TOY = Toy("raise_an_error")
SAME = "def decide(load, room):\n    return room if room < load else load\n"
OTHER = "def decide(load, room):\n    return max(load, room)\n"
OF_LEAST = "0,1,2,3,4,5,4,3,2,1,0"


def constant(value: float) -> str:
    return f"def decide(load, room):\n    return {value}\n"


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "local":
        made: Executor = LocalExecutor(TOY.setup, 1)
    else:
        made = RayExecutor(TOY.setup, 1, request.getfixturevalue("ray_runtime"))
    with made:
        yield made


def test_policies_that_decide_alike_have_one_signature(executor: Executor) -> None:
    jobs = [TOY.job("honest", source=source, probe=True) for source in (MIN, SAME, OTHER)]
    first, same, other = [future.result() for future in [executor.submit(job) for job in jobs]]
    assert first.signature == same.signature == OF_LEAST
    assert other.signature == "10,9,8,7,6,5,6,7,8,9,10"
    assert [outcome.status for outcome in (first, same, other)] == ["scored"] * 3
    assert first.metrics[0][1]["sum"] == 25.0


def test_a_job_may_be_for_the_signature_alone(executor: Executor) -> None:
    outcome = executor.submit(TOY.job(probe=True)).result()
    assert (outcome.status, outcome.metrics, outcome.signature) == ("scored", (), OF_LEAST)


@pytest.fixture(scope="module")
def jailed() -> Iterator[JailedEvaluator]:
    evaluator = JailedEvaluator(TOY.setup)
    yield evaluator
    evaluator.close()


@pytest.mark.parametrize(
    ("value", "status", "message"),
    [
        (101.0, "failed", "its decisions: LookupError: no such probe"),
        (102.0, "failed", "its decisions: BadResult: a int is not a text"),
        (103.0, "failed", "its decisions: BadResult: 1000 characters, and from 1 to 256 are possible"),
        (104.0, "crashed", "its process was killed by SIGABRT"),
    ],
)
def test_a_probe_that_misbehaves_ends_as_what_it_is(
    jailed: JailedEvaluator, value: float, status: str, message: str
) -> None:
    outcome = jailed.run(TOY.job("honest", source=constant(value), probe=True))
    assert (outcome.status, outcome.message, outcome.signature) == (status, message, None)
    after = jailed.run(TOY.job("honest", source=constant(value)))
    assert (after.status, after.metrics[0][1]["sum"]) == ("scored", 11 * value)
