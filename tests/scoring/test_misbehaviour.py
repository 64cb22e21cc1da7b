"""Whatever an evaluation does, it ends in the right outcome, and the next one is none the worse."""

from collections.abc import Iterator

import pytest
from effort import few
from scoring_toys import LIMIT, Toy

from vulcan.scoring import JailedEvaluator

SHORT = 0.3
SENT_NONSENSE = "its process sent a malformed reply: "

# kind of behaviour -> seconds it gets, status, message
ENDS: dict[str, tuple[float, str, str]] = {
    "spin": (SHORT, "timeout", "took more than 0.3 s"),
    "spin_without_python": (SHORT, "timeout", "took more than 0.3 s"),
    "spin_ignoring_signals": (SHORT, "timeout", "took more than 0.3 s"),
    "sleep": (SHORT, "timeout", "took more than 0.3 s"),
    "allocate_in_steps": (LIMIT, "memory", "needs more than 256 MiB of memory"),
    "allocate_at_once": (LIMIT, "memory", "needs more than 256 MiB of memory"),
    "native_code_runs_out": (LIMIT, "memory", "needs more than 256 MiB of memory"),
    "segfault": (LIMIT, "crashed", "its process was killed by SIGSEGV"),
    "abort": (LIMIT, "crashed", "its process was killed by SIGABRT"),
    "leave": (LIMIT, "crashed", "its process ended with exit code 3"),
    "system_exit": (LIMIT, "crashed", "its process ended with exit code 0"),
    "hang_up": (LIMIT, "crashed", "its process was killed by SIGKILL"),
    "garbage": (LIMIT, "crashed", SENT_NONSENSE + "longer than any reply may be"),
    "not_json": (LIMIT, "crashed", SENT_NONSENSE + "not JSON"),
    "wrong_ticket": (LIMIT, "crashed", SENT_NONSENSE + "not the reply to this job"),
    "reply_in_advance": (LIMIT, "crashed", SENT_NONSENSE + "not the reply to this job"),
    "half_a_reply": (LIMIT, "crashed", "its process ended with exit code 0"),
    "raise_an_error": (LIMIT, "failed", "raise_an_error: LookupError: no such thing"),
    "recurse": (LIMIT, "failed", "recurse: RecursionError: maximum recursion depth exceeded"),
    "nan": (LIMIT, "failed", "nan: BadResult: sum is nan"),
    "infinite": (LIMIT, "failed", "infinite: BadResult: sum is -inf"),
    "too_large_an_integer": (LIMIT, "failed", "too_large_an_integer: BadResult: sum is larger than a float can be"),
    "text": (LIMIT, "failed", "text: BadResult: sum is a str, not a number"),
    "truth": (LIMIT, "failed", "truth: BadResult: sum is a bool, not a number"),
    "infinite_once_asked": (LIMIT, "failed", "infinite_once_asked: BadResult: sum is inf"),
    "nothing": (LIMIT, "failed", "nothing: BadResult: a NoneType is not a mapping of metrics"),
    "numbered": (LIMIT, "failed", "numbered: BadResult: the name of a metric is a int, not a text"),
    "endless_metrics": (LIMIT, "failed", "its reply takes more than 1048576 bytes"),
}
HONEST = (("honest", {"sum": 25.0}),)
TOY = Toy(*ENDS, "print_garbage", "where_it_runs")


@pytest.fixture(scope="module")
def evaluator() -> Iterator[JailedEvaluator]:
    evaluator = JailedEvaluator(TOY.setup)
    yield evaluator
    evaluator.close()


@pytest.mark.parametrize("kind", few(ENDS, 16))
def test_a_misbehaving_evaluation_ends_as_what_it_is(evaluator: JailedEvaluator, kind: str) -> None:
    limit, status, message = ENDS[kind]
    outcome = evaluator.run(TOY.job(kind, limit=limit))
    assert (outcome.job, outcome.status, outcome.message, outcome.metrics) == (1, status, message, ())
    after = evaluator.run(TOY.job("honest", id=2))
    assert (after.job, after.status, after.metrics) == (2, "scored", HONEST)


def test_an_instance_that_fails_makes_the_candidate_failed(evaluator: JailedEvaluator) -> None:
    outcome = evaluator.run(TOY.job("honest", "nan", "honest"))
    assert (outcome.status, outcome.metrics) == ("failed", ())


def test_a_rejected_policy_is_no_failure_and_costs_no_child(evaluator: JailedEvaluator) -> None:
    evaluator.start()
    pid = evaluator.pid
    outcome = evaluator.run(TOY.job("honest", source="import os\n"))
    assert (outcome.status, evaluator.pid) == ("rejected", pid)
    assert outcome.message.startswith("line 1, column 1: [import] `import os` is not allowed")
