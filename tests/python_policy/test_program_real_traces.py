"""Known policies, written as programs and run in the sandbox, miss on a real trace exactly as the native ones do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from program_parts import CACHE, SEEDS
from real_data import real_data

from vulcan.python_policy.check import check_program
from vulcan.scoring.evaluator_child import RUNNER
from vulcan.scoring.program_server_client import ForkServer
from vulcan_cache.baselines import BASELINES
from vulcan_cache.program import blocks, replay_program
from vulcan_cache.simulate import CacheResult
from vulcan_traces import load_trace

REQUESTS = 20_000
Column = NDArray[np.uint32]
Sizes = NDArray[np.int64]


@cache
def requests(unit_sizes: bool) -> tuple[Column, Sizes]:
    """Objects and sizes at the beginning of a trace of a virtual disk (CloudPhysics)."""
    trace = load_trace(real_data("cache", "libcachesim") / "cloudPhysicsIO.vscsi")
    objects, sizes = np.asarray(trace.objects)[:REQUESTS], np.asarray(trace.sizes)[:REQUESTS]
    return objects, np.ones_like(sizes) if unit_sizes else sizes


@cache
def capacity(unit_sizes: bool, share: float) -> int:
    """That share of the bytes of all objects."""
    objects, sizes = requests(unit_sizes)
    return int(share * sizes[np.unique(objects, return_index=True)[1]].sum(dtype=np.int64))


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer(RUNNER) as server:
        server.start()
        yield server


def as_program(server: ForkServer, name: str, objects: Column, sizes: Sizes, capacity: int) -> CacheResult:
    program = check_program(SEEDS[name], CACHE).hosted_by(lambda: server.open(300.0))
    return replay_program(program, objects, sizes, capacity, blocks=blocks())


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize(("unit_sizes", "share"), [(False, 0.1), (True, 0.01)])
def test_a_program_misses_as_the_native_policy(server: ForkServer, name: str, unit_sizes: bool, share: float) -> None:
    objects, sizes = requests(unit_sizes)
    room = capacity(unit_sizes, share)
    result = as_program(server, name, objects, sizes, room)
    kernel = BASELINES[name.replace("_", "-")].kernel()
    nowhere = np.full(len(objects), -1, np.int64)
    expected = kernel(objects, sizes, nowhere, int(objects.max()) + 1, room, 0)
    assert (result.misses, result.missed_bytes, result.bypassed) == tuple(map(int, expected))


def first_wrap(objects: Column, room: int) -> int:
    """How many requests there are before SIEVE's hand, which has come to the newest object, goes on at the oldest.

    Sizes are 1.
    """
    queue: list[int] = []
    visited: dict[int, bool] = {}
    hand = 0
    for number, obj in enumerate(objects.tolist()):
        if obj in visited:
            visited[obj] = True
            continue
        if len(queue) == room:
            while hand < len(queue) and visited[queue[hand]]:
                visited[queue[hand]] = False
                hand += 1
            if hand == len(queue):
                return number
            del visited[queue.pop(hand)]
            if hand == len(queue):
                return number + 1
        queue.append(obj)
        visited[obj] = False
    return len(objects)


def test_lfu_and_sieve_evict_alike_until_the_hand_of_sieve_has_been_round_once(server: ForkServer) -> None:
    """Which is why their counts are often equal on short traces, and is no fault of either.

    Before that both evict, from old to new, what was not requested again: LFU as what has a count of 1, SIEVE as what
    its hand finds unmarked. All that the hand has passed over has a count of 2 and more.
    """
    objects, sizes = requests(True)
    room = capacity(True, 0.01)
    wrap = first_wrap(objects, room)
    assert room < wrap < REQUESTS
    lfu, sieve = (as_program(server, name, objects[:wrap], sizes[:wrap], room) for name in ("lfu", "sieve"))
    assert lfu == sieve
    assert lfu.misses > 4 * room
    lfu, sieve = (as_program(server, name, objects, sizes, room) for name in ("lfu", "sieve"))
    assert lfu.evictions != sieve.evictions
    assert lfu.misses != sieve.misses
