"""Nothing that a child sends is taken on trust."""

from dataclasses import replace
from pathlib import Path

import pytest

from vulcan.scoring.job import JobRequest, Outcome
from vulcan.scoring.wire import MAX_SIGNATURE, MalformedMessage, decode, encode, outcome_of

REQUEST = JobRequest(job=7, source="", instances=(0, 1), limit=1.0)
GOOD = {"ticket": "t", "status": "scored", "metrics": [{"a": 1.0}, {"b": -2.5}], "message": ""}


def read(**changes: object) -> Outcome:
    return outcome_of({**GOOD, **changes}, "t", REQUEST, ("x", "y"), 0.5)


def test_a_good_reply_is_an_outcome() -> None:
    assert read() == Outcome(7, "scored", (("x", {"a": 1.0}), ("y", {"b": -2.5})), "", 0.5)


@pytest.mark.parametrize(
    "changes",
    [
        {"ticket": "u"},
        {"ticket": None},
        {"status": "stopped"},
        {"status": "duplicate"},
        {"status": ["scored"]},
        {"message": 5},
        {"message": None},
        {"metrics": None},
        {"metrics": []},
        {"metrics": [{"a": 1.0}]},
        {"metrics": [{"a": 1.0}] * 3},
        {"metrics": [{"a": 1.0}, {"b": 1}]},
        {"metrics": [{"a": 1.0}, {"b": True}]},
        {"metrics": [{"a": 1.0}, {"b": "1.0"}]},
        {"metrics": [{"a": 1.0}, {"b": float("inf")}]},
        {"metrics": [{"a": 1.0}, {"b": float("nan")}]},
        {"metrics": [{"a": 1.0}, [["b", 1.0]]]},
    ],
)
def test_any_other_reply_is_malformed(changes: dict[str, object]) -> None:
    with pytest.raises(MalformedMessage):
        read(**changes)


def test_a_signature_is_taken_where_it_was_asked_for() -> None:
    reply = {**GOOD, "signature": "5eed"}
    assert outcome_of(reply, "t", replace(REQUEST, probe=True), ("x", "y"), 0.5).signature == "5eed"
    assert outcome_of(GOOD, "t", replace(REQUEST, probe=True), ("x", "y"), 0.5).signature is None
    with pytest.raises(MalformedMessage):
        outcome_of(reply, "t", REQUEST, ("x", "y"), 0.5)


@pytest.mark.parametrize("signature", ["", "x" * (MAX_SIGNATURE + 1), 7, True, ["5eed"]])
def test_any_other_signature_is_malformed(signature: object) -> None:
    with pytest.raises(MalformedMessage):
        outcome_of({**GOOD, "signature": signature}, "t", replace(REQUEST, probe=True), ("x", "y"), 0.5)


def test_any_text_survives_the_journey() -> None:
    message = {"source": "\ud800 \x00 ü", "number": 0.1}
    frame = encode(message)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert decode(frame[4:]) == message


def test_kernel_kills_are_counted_and_told_from_crashes() -> None:
    from vulcan.scoring.job import Limits
    from vulcan.scoring.sandbox.exit_causes import classify_exit, kernel_kills

    limits = Limits(memory_bytes=64 << 20, cpu_seconds=9)
    assert classify_exit(-9, "", True, limits) == ("memory", "killed by the kernel, for the host ran out of memory")
    assert classify_exit(-9, "", False, limits) == ("crashed", "its process was killed by SIGKILL")
    assert classify_exit(-11, "", True, limits) == ("crashed", "its process was killed by SIGSEGV")
    assert classify_exit(-24, "", False, limits) == ("timeout", "took more than 9 s of processor time")
    assert classify_exit(-6, "terminate: std::bad_alloc", False, limits) == (
        "memory",
        "needs more than 64 MiB of memory",
    )
    assert classify_exit(-200, "", False, limits) == ("crashed", "its process was killed by signal 200")
    counters = Path("/proc/vmstat")
    if counters.exists():
        line = next(line for line in counters.read_text().splitlines() if line.startswith("oom_kill "))
        assert kernel_kills() == int(line.split()[1])
