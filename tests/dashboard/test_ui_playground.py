"""A policy that somebody tries: the checker's verdict, and the score that the search itself would give it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live import MOOD_TASK, ended, only_run, record_of, start_search

from vulcan.anvil import Rejected, check
from vulcan.dashboard.playground import MAX_SOURCE, Busy, Playground, instances_for, seed_of
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.store import RunRecord

TASK = find_task(MOOD_TASK)
HOSTILE = {
    "import": "import os\ndef decide(load, room):\n    return os.system('true')\n",
    "open": "def decide(load, room):\n    return open('/etc/passwd')\n",
    "dunder": "def decide(load, room):\n    return load.__class__.__mro__\n",
    "endless": "def decide(load, room):\n    while True:\n        pass\n",
    "bomb": "def decide(load, room):\n    return 9 ** 9 ** 9 ** 9 ** 9\n" + "#" * 5000,
    "deep": "def decide(load, room):\n    return " + "(" * 5000 + "load" + ")" * 5000 + "\n",
    "wide": "def decide(load, room):\n" + "".join(f"    x{n} = load + {n}\n" for n in range(2000)) + "    return x0\n",
    "bytes": "\0\ud800def decide(load, room): return load",
    "nothing": "",
}


def mood(number: int) -> str:
    """A policy that makes the evaluator of moods misbehave."""
    return f"def decide(load, room):\n    if load + room == 0:\n        return {number}\n    return load\n"


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, cache_of_tests: Path) -> RunRecord:
    directory = tmp_path_factory.mktemp("played")
    assert ended(start_search(directory, "--budget-candidates", "4", "--rounds", "2", "--samples", "2")) == 0
    return record_of(only_run(directory))


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with closing(Playground()) as opened:
        yield opened


def test_it_scores_as_the_search_did(playground: Playground, record: RunRecord) -> None:
    best = record.ranked()[0]
    for instance, metrics in best.metrics:
        told = playground.score(record, best.source, instance)
        assert told["status"] == "scored"
        assert told["metrics"] == metrics
        beside = {line["policy"]: line["score"] for line in told["comparison"]}
        assert beside[f"candidate {best.candidate}"] == told["score"]
        assert {"none", "half", "all"} <= set(beside)
        scores = [line["score"] for line in told["comparison"]]
        assert scores == sorted(scores, reverse=True)


def test_it_offers_nothing_that_the_search_may_not_see(playground: Playground, record: RunRecord) -> None:
    offered = [one["name"] for one in instances_for(record)]
    assert set(offered) == {i.name for i in record.instances if i.split == "train"}
    held_out = replace(record.instances[0], name="kept back", split="test")
    hidden = replace(record, instances=(*record.instances, held_out))
    with pytest.raises(UserError, match="no training instance 'kept back'"):
        playground.score(hidden, "def decide(load, room):\n    return load\n", "kept back")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_is_rejected_and_runs_nowhere(playground: Playground, record: RunRecord, name: str) -> None:
    told = playground.check(record, HOSTILE[name])
    assert told["verdict"] == "rejected"
    for violation in told["violations"]:
        assert violation["line"] >= 1
        assert violation["message"]
    scored = playground.score(record, HOSTILE[name], "light")
    assert (scored["status"], scored["score"]) == ("rejected", None)


@pytest.mark.parametrize(("number", "status"), [(101, "timeout"), (102, "crashed"), (103, "memory"), (104, "failed")])
def test_a_policy_that_harms_its_evaluator_harms_nothing_else(
    playground: Playground, record: RunRecord, number: int, status: str
) -> None:
    brief = replace(record, config={**record.config, "limit": 1.0})
    told = playground.score(brief, mood(number), "light")
    assert (told["status"], told["score"]) == (status, None)
    assert "\n" not in told["message"]
    good = "def decide(load, room):\n    return min(load, room)\n"
    assert playground.score(brief, good, "light")["status"] == "scored"


def test_one_policy_is_scored_at_a_time(playground: Playground, record: RunRecord) -> None:
    brief = replace(record, config={**record.config, "limit": 3.0})

    def endless() -> None:
        while True:
            try:
                playground.score(brief, mood(101), "light")
                return
            except Busy:
                continue

    first = threading.Thread(target=endless)
    first.start()
    refused = 0
    while first.is_alive():
        try:
            playground.score(record, "def decide(load, room):\n    return load\n", "light")
        except Busy:
            refused += 1
        time.sleep(0.05)
    first.join()
    assert refused > 0


def test_no_policy_runs_in_this_process(
    playground: Playground, record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evaluator of moods would end whatever process a policy of the mood 102 is scored in."""
    before = os.getpid()
    assert playground.score(record, mood(102), "light")["status"] == "crashed"
    assert os.getpid() == before


@given(
    constant=st.floats(0.1, 9, allow_nan=False),
    body=st.sampled_from(
        ["load", "min(load, room)", "load / room", "load.x", "while", "room if load > 2000 else load"]
    ),
)
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_verdict_is_that_of_the_checker(
    playground: Playground, record: RunRecord, constant: float, body: str
) -> None:
    source = f"K = {constant!r}\ndef decide(load, room):\n    return K * ({body})\n"
    told = playground.check(record, source)
    try:
        policy = check(source, TASK)
    except Rejected as rejected:
        assert told["verdict"] == "rejected"
        found = [(v["rule"], v["line"], v["column"]) for v in told["violations"]]
        assert found == [(v.rule, v.line, v.column) for v in rejected.violations]
        return
    assert told["verdict"] == "accepted"
    assert told["operations"] == [{"function": "decide", "operations": policy.operations}]
    assert told["parameters"] == {"K": constant}
    assert [w["rule"] for w in told["warnings"]] == [w.rule for w in policy.warnings]


def test_a_constant_policy_is_rejected_as_the_search_does(playground: Playground, record: RunRecord) -> None:
    told = playground.check(record, "def decide(load, room):\n    return 3\n")
    assert told["verdict"] == "rejected"
    assert "constant" in told["message"]


def test_a_program_that_is_too_long_is_not_looked_at(playground: Playground, record: RunRecord) -> None:
    with pytest.raises(UserError, match="characters"):
        playground.check(record, "#" * (MAX_SOURCE + 1))


def test_the_editor_begins_with_the_best_program(record: RunRecord) -> None:
    assert seed_of(record, None) == record.ranked()[0].source
    assert seed_of(record, 1) == record.candidates[1].source
    assert seed_of(RunRecord(config=record.config), None) in TASK.seed_policies().values()


def test_what_is_scored_ends_with_the_page(record: RunRecord) -> None:
    opened = Playground()
    brief = replace(record, config={**record.config, "limit": 30.0})
    ends: list[str] = []

    def score() -> None:
        try:
            opened.score(brief, mood(101), "light")
        except UserError as error:
            ends.append(str(error))

    thread = threading.Thread(target=score)
    thread.start()
    time.sleep(0.5)
    opened.close()
    thread.join(20)
    assert not thread.is_alive()
    assert ends == ["the page's process is ending"]
