"""Decisions are replayed: known policies as programs miss exactly as the native ones, and no lie changes a score."""

import struct
import time
from collections.abc import Iterator
from itertools import repeat

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from program_parts import CACHE, SEEDS, Here, Says, trace, unchecked

from vulcan.python_policy.check import check_program
from vulcan.python_policy.policy import ProgramFailed, ProgramPolicy
from vulcan.python_policy.runner import ERROR, MEMORY, OK
from vulcan.scoring.evaluator_child import RUNNER
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded
from vulcan_cache.baselines import BASELINES
from vulcan_cache.program import blocks, replay_program


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer(RUNNER) as server:
        server.start()
        yield server


def policy(source: str) -> ProgramPolicy:
    return check_program(source, CACHE)


def native(name: str, objects: np.ndarray, sizes: np.ndarray, capacity: int, measure_from: int = 0) -> tuple[int, ...]:
    nowhere = np.full(len(objects), -1, np.int64)
    count = int(objects.max(initial=0)) + 1
    return tuple(
        map(int, BASELINES[name.replace("_", "-")].run(objects, sizes, nowhere, count, capacity, measure_from))
    )


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("largest", [1, 50])
def test_known_policies_miss_as_the_native_ones_in_the_sandbox(server: ForkServer, name: str, largest: int) -> None:
    objects, sizes = trace(6000, 2000, largest=largest)
    capacity = 150 * (1 + largest) // 2
    program = policy(SEEDS[name]).hosted_by(lambda: server.open(120.0))
    result = replay_program(program, objects, sizes, capacity, measure_from=1000, blocks=blocks())
    expected = native(name, objects, sizes, capacity, measure_from=1000)
    assert (result.misses, result.missed_bytes, result.bypassed) == expected
    assert 0 < result.misses < result.requests == 5000


@settings(max_examples=examples(60))
@given(
    name=st.sampled_from(sorted(SEEDS)),
    requests=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9)), min_size=1, max_size=120),
    capacity=st.integers(1, 30),
    length=st.integers(1, 40),
)
def test_blocks_of_any_length_and_one_request_after_the_other_come_to_the_same_as_the_native_policy(
    name: str, requests: list[tuple[int, int]], capacity: int, length: int
) -> None:
    known: dict[int, int] = {}
    objects = np.array([known.setdefault(obj, len(known)) for obj, _ in requests], np.uint32)
    sizes = np.array([size for _, size in requests], np.int64)
    program = policy(SEEDS[name]).hosted_by(Here)
    alone = replay_program(program, objects, sizes, capacity, blocks=repeat(1))
    in_blocks = replay_program(program, objects, sizes, capacity, blocks=iter([length] * 121))
    assert alone == in_blocks
    if name != "s3_fifo" or sizes.max() <= capacity:  # the native one is told of requests for what is larger
        assert (alone.misses, alone.missed_bytes, alone.bypassed) == native(name, objects, sizes, capacity)


def told_one_by_one(*replies: bytes) -> ProgramPolicy:
    return policy(SEEDS["fifo"]).hosted_by(lambda: Says(*replies))


def decided(*numbers: int) -> bytes:
    return bytes([OK]) + struct.pack(f"<{len(numbers)}q", *numbers)


THREE = np.array([0, 1, 2], np.uint32), np.array([1, 1, 1], np.int64)


@pytest.mark.parametrize(
    ("reply", "status", "said"),
    [
        (decided(2), "failed", "at request 1 its evict returned 2, which is not in the cache"),
        (decided(7), "failed", "and there is no such object"),
        (decided(-1), "failed", "and there is no such object"),
        (decided(2**63 - 1), "failed", "no such object"),
        (bytes([OK]) + b"1234567", "crashed", "malformed"),
        (b"", "crashed", "malformed"),
        (b"\xff" * 9, "crashed", "malformed"),
        (bytes([ERROR]) + b"x" * 5000, "crashed", "malformed"),
        (bytes([ERROR]) + b"KeyError: \x1b[31m\xff", "failed", "KeyError: ?[31m"),
        (bytes([MEMORY]), "memory", "memory"),
    ],
)
def test_a_lie_of_the_process_is_a_verdict_on_its_program(reply: bytes, status: str, said: str) -> None:
    with pytest.raises(ProgramFailed) as caught:
        replay_program(told_one_by_one(decided(), decided(), reply), *THREE, 1, blocks=repeat(1))
    assert caught.value.status == status
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (decided(0), "at request 2 it made no decision that was due"),
        (decided(0, 1, 2), "1 decisions that were not due"),
        (decided(0, 0), "at request 2 its evict returned 0, which is not in the cache"),
        (decided(), "at request 1 it made no decision"),
        (decided(9, 1), "no such object"),
    ],
)
def test_a_lie_about_a_block_is_found_where_it_is_carried_out(reply: bytes, said: str) -> None:
    with pytest.raises(ProgramFailed) as caught:
        replay_program(told_one_by_one(decided(), reply), *THREE, 1, blocks=iter([3]))
    assert said in caught.value.message


def test_the_process_is_ended_whatever_it_says() -> None:
    place = Says(decided(), b"nonsense")
    with pytest.raises(ProgramFailed):
        replay_program(policy(SEEDS["fifo"]).hosted_by(lambda: place), *THREE, 1, blocks=repeat(1))
    assert place.ended >= 1
    place = Says(b"nonsense")
    with pytest.raises(ProgramFailed):
        policy(SEEDS["fifo"]).hosted_by(lambda: place).start(b"", 1)
    assert place.ended >= 1


def fails(server: ForkServer, source: str, seconds: float = 60.0) -> tuple[str, str]:
    objects, sizes = trace(400, 200)
    checked = policy(source) if source.startswith(("class", "import", '"""')) else unchecked(source)
    try:
        replay_program(checked.hosted_by(lambda: server.open(seconds)), objects, sizes, 40, blocks=blocks())
    except (ProgramFailed, ProgramEnded) as failed:
        return failed.status, failed.message
    return "scored", ""


def fifo(evict: str) -> str:
    body = "\n".join("        " + line for line in evict.splitlines())
    return SEEDS["fifo"].replace("        return self.queue.popleft()", body)


@pytest.mark.parametrize(
    ("evict", "status", "said"),
    [
        ("return None", "failed", "returned None, not a whole number"),
        ("return True", "failed", "returned a bool"),
        ("return 1.0", "failed", "returned a float"),
        ("return 'a'", "failed", "returned a str"),
        ("return 2**200", "failed", "more than 64 bits"),
        ("return self", "failed", "returned a Policy"),
        ("return 1 // 0", "failed", "ZeroDivisionError"),
        ("return [][0]", "failed", "IndexError: list index out of range (line 14, in evict)"),
        ("raise ValueError('x' * 100000)", "failed", "ValueError: xxx"),
        ("return self.evict(request)", "failed", "RecursionError"),
        ("math.pi = 3\nreturn 0", "failed", "TypeError: a SimpleNamespace cannot be changed"),
        ("Policy.x = 3\nreturn 0", "failed", "TypeError: a type cannot be changed"),
        ("request.x = 3\nreturn 0", "failed", "TypeError: a Record cannot be changed"),
        ("return {self: 1}", "failed", "unhashable"),
    ],
)
def test_errors_of_a_program_are_told_with_their_place(server: ForkServer, evict: str, status: str, said: str) -> None:
    found, message = fails(server, fifo(evict))
    assert found == status, message
    assert said in message
    assert len(message) < 500
    assert message.isprintable()


def test_time_and_memory_are_bounded(server: ForkServer) -> None:
    began = time.monotonic()
    assert fails(server, fifo("while True:\n    pass"), seconds=2.0)[0] == "timeout"
    assert time.monotonic() - began >= 1.9
    assert fails(server, fifo("x = [0] * 10**11\nreturn 0"))[0] == "memory"
    assert fails(server, SEEDS["fifo"]) == ("scored", "")


CLAIRVOYANT = '''
"""Breaks out of its frame, finds the requests that it was sent, and evicts what among them comes last."""


def frames():
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame
    while frame is not None:
        yield frame
        frame = frame.f_back


class Policy:
    def __init__(self, capacity):
        self.kept = {}
        self.seen_ahead = 0

    def on_miss(self, request):
        self.kept[request.id] = None

    def evict(self, request):
        ahead = []
        for frame in frames():
            batch = frame.f_locals.get("batch")
            if batch is not None:
                rows = [int.from_bytes(batch[i : i + 8], "little") for i in range(0, len(batch), 24)]
                times = [int.from_bytes(batch[i + 16 : i + 24], "little") for i in range(0, len(batch), 24)]
                ahead = [obj for obj, time in zip(rows, times) if time > request.time]
        self.seen_ahead += len(ahead)
        leaving = max(self.kept, key=lambda obj: ahead.index(obj) if obj in ahead else 10**9)
        del self.kept[leaving]
        if MUST_BE_BLIND and self.seen_ahead:
            raise ValueError("it saw ahead")
        return leaving
'''


def test_a_program_that_breaks_out_finds_no_request_that_is_to_come(server: ForkServer) -> None:
    objects, sizes = trace(300, 100)
    blind = unchecked(CLAIRVOYANT.replace("MUST_BE_BLIND", "True")).hosted_by(lambda: server.open(120.0))
    result = replay_program(blind, objects, sizes, 30, blocks=repeat(1))
    assert result.requests == 300


def test_a_program_that_looks_ahead_in_its_block_is_found_out(server: ForkServer) -> None:
    objects, sizes = trace(2000, 600)
    seeing = unchecked(CLAIRVOYANT.replace("MUST_BE_BLIND", "False")).hosted_by(lambda: server.open(120.0))
    first, second = (replay_program(seeing, objects, sizes, 100, blocks=blocks()) for _ in range(2))
    assert first.misses < native("fifo", objects, sizes, 100)[0]  # looking ahead is worth something,
    assert first != second  # but it shows
