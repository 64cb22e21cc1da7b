"""What a policy of the mechanism `queues` answers, and what the kernel makes of it."""

from __future__ import annotations

from random import Random

import pytest
from cache_formats import queue_policy
from plain_cache import assert_equal

from vulcan.anvil import check
from vulcan.registry import find_task

TASK = find_task("cache_eviction")


def policy(**answers):
    return check(queue_policy(**answers), TASK)


def with_room(queue, number="1", **answers):
    """A policy that makes room as the expressions say."""
    handler = (
        "def on_room(now, obj, cache, queues, ghost, tails, ghosts, room):\n"
        f"    room.queue = {queue}\n    room.list = {number}\n"
    )
    return check(policy(**answers).source + "\n\n" + handler, TASK)


def keys(*asked):
    return [(key, 1) for key in asked]


def test_answers_are_rounded_and_kept_within_bounds():
    requests = keys(*range(30), *range(10, 30), *range(30))
    two = assert_equal(policy(insert="1.5"), requests, 10)
    assert [len(two.queues[n]) for n in (1, 2, 3, 4)] == [0, 10, 0, 0]
    assert assert_equal(policy(insert="99"), requests, 10).queues[4]
    assert not assert_equal(policy(insert="0.49"), requests, 10).residents
    assert assert_equal(policy(insert="-0.5"), requests, 10).ghosts
    assert not assert_equal(policy(insert="-0.51"), requests, 10).ghosts
    assert assert_equal(policy(hit="99"), [one for one in requests for _ in "12"], 10).queues[4]
    assert assert_equal(policy(tail="2.5"), requests, 10).queues[3]
    assert not assert_equal(policy(tail="-0.51"), requests, 10).ghosts


ROOMS = (
    ("hash(obj.id + queues.objects_1, 1) % 9 - 1.5", "hash(tails.id_1, 2) % 4 - 0.5"),
    ("hash(tails.last_access_2 + tails.size_1, 1) % 7", "hash(ghosts.used_1, 2) % 3"),
    ("hash(tails.id_2 + ghosts.used_2, 3) % 8 - 1 + 1e9 * (now % 5 == 4)", "2"),
)


@pytest.mark.parametrize("weight", [1, 10])
@pytest.mark.parametrize("changing", [0, 1], ids=["the same answer after making room", "another one"])
@pytest.mark.parametrize("room", ROOMS)
def test_whatever_a_handler_sets_the_kernel_does_as_the_plain_mechanism(room, changing, weight):
    random = Random(weight)
    drawn = [min(int(random.paretovariate(0.7)), 30) for _ in range(300)]
    numbers: dict[int, int] = {}
    requests = [(numbers.setdefault(key, len(numbers)), random.randint(1, 9)) for key in drawn]
    answers = {
        "insert": f"hash(now{' + queues.objects_1' * changing}, 5) % 5 - 0.5",
        "hit": "hash(obj.hits, 6) % 5",
        "tail": "hash(obj.id + obj.hits, 7) % 4 - 1",
        "share": "cache.capacity / (1 + queue)",
    }
    plain = assert_equal(with_room(*room, **answers), requests, 40 * weight, weight=weight)
    assert plain.evictions
