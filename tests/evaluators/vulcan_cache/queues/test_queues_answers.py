"""What a policy of the mechanism `queues` answers, and what the kernel makes of it."""

from __future__ import annotations

from random import Random

import plain_cache
import pytest

from vulcan.anvil import check
from vulcan.registry import find_task

TASK = find_task("cache_eviction")

POLICY = """
MECHANISM = "queues"


def insert(now, obj, cache, queues, ghost):
    return {insert}


def hit(now, obj, cache, queues):
    return {hit}


def tail(now, obj, cache, queues):
    return {tail}


def keep(now, obj, cache, queues):
    return {keep}


def share(queue, cache, queues):
    return {share}
"""


def policy(insert="1", hit="0", tail="-1", keep="0", share="cache.capacity"):
    return check(POLICY.format(insert=insert, hit=hit, tail=tail, keep=keep, share=share), TASK)


def with_room(queue, number="1", **answers):
    """A policy that makes room as the expressions say."""
    handler = (
        "def on_room(now, obj, cache, queues, ghost, tails, ghosts, room):\n"
        f"    room.queue = {queue}\n    room.list = {number}\n"
    )
    return check(policy(**answers).source + "\n\n" + handler, TASK)


def assert_equal(policy, requests, capacity, **settings):
    return plain_cache.assert_equal(policy, requests, capacity, **settings)


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


def test_objects_that_are_not_let_in_are_counted_in_the_ghost_list():
    third_time = policy(insert="1 if ghost.count(obj.id) >= 2 else 0")
    plain = assert_equal(third_time, keys(0, 1, 0, 0, 0, 1), 5)
    assert list(plain.residents) == [0]
    assert plain.ghosts == {1: (1, 2, 5)}
    assert plain.bypassed == 4


def test_the_ghost_list_is_as_large_as_its_share():
    lists = policy(tail="0", share="7 if queue == 0 else cache.capacity")
    assert list(assert_equal(lists, keys(*range(30)), 10).ghosts) == list(range(13, 20))


def test_a_policy_that_moves_everything_evicts_all_the_same():
    """Of what a request allows, moves are taken from; then the object at the tail leaves, and is remembered."""
    plain = assert_equal(policy(tail="obj.queue"), keys(*range(100)), 10)
    assert plain.evictions == 90
    assert len(plain.ghosts) == 10
    assert plain.moves == 0


def test_a_hit_that_moves_an_object_makes_its_new_queue_shrink():
    demoting = policy(hit="2", tail="obj.queue - 1 if obj.queue > 1 else -1", share="3 if queue == 2 else 10")
    plain = assert_equal(demoting, keys(0, 1, 2, 3, 4, 0, 1, 2, 3), 10)
    assert plain.queues == {1: [4, 0], 2: [1, 2, 3], 3: [], 4: []}
    assert plain.evictions == 0


def test_what_a_hit_pushes_out_makes_further_queues_shrink():
    share = "2 if queue > 1 else cache.capacity"
    demoting = policy(hit="3", tail="obj.queue - 1 if obj.queue > 1 else -1", share=share)
    requests = keys(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4)
    assert assert_equal(demoting, requests, 6).queues == {1: [5, 0], 2: [1, 2], 3: [3, 4], 4: []}
    assert assert_equal(demoting, [*requests, *keys(6, 7)], 6).gone == [5, 0]


def test_of_the_queues_the_last_over_its_share_shrinks_else_the_first_that_holds_anything():
    requests = keys(0, 1, 2, 3, 4, 5, 6)
    shares = "2 if queue == {} else 10"
    assert assert_equal(policy(insert="obj.id % 2 + 1", share=shares.format(2)), requests, 6).gone == [1]
    assert assert_equal(policy(insert="obj.id % 2 + 1", share=shares.format(1)), requests, 6).gone == [0]
    assert assert_equal(policy(insert="obj.id % 2 + 3"), requests, 6).gone == [0]


def test_a_handler_names_the_queue_that_shrinks_even_if_there_is_room():
    window = with_room("1 if queues.used_1 >= 3 else 0", tail="2 if obj.queue == 1 else -1")
    assert assert_equal(window, keys(*range(8)), 10).queues == {1: [5, 6, 7], 2: [0, 1, 2, 3, 4], 3: [], 4: []}
    newest = with_room("4 if cache.used >= 5 else 0", insert="obj.id % 2 * 3 + 1")
    assert assert_equal(newest, keys(*range(8)), 5).gone == [1, 3, 5]


def test_a_handler_may_refuse_an_object_after_others_have_left_for_it():
    late = with_room("-1 if obj.id == 7 and cache.objects == 3 else 1 if cache.used >= 4 else 0", tail="0")
    plain = assert_equal(late, keys(*range(7), 7, 8), 4)
    assert plain.gone == [0, 1, 2, 3, 7]
    assert plain.bypassed == 1
    assert list(plain.lists[1]) == [1, 2, 3, 7]


def test_a_handler_chooses_the_ghost_list_and_has_the_oldest_of_it_forgotten():
    chosen = with_room("6 if ghosts.used_2 > 2 else 0", "tails.id_1 % 3", tail="0")
    plain = assert_equal(chosen, keys(*range(20)), 4)
    assert {key % 3 for key in plain.lists[1]} == {1}
    assert {key % 3 for key in plain.lists[2]} == {2}
    assert len(plain.lists[1]) == 4
    assert len(plain.lists[2]) <= 3


def test_what_is_asked_of_an_empty_queue_or_list_is_not_done():
    for queue in ("3", "5", "6"):
        plain = assert_equal(with_room(queue), keys(*range(12)), 5)
        assert plain.gone == list(range(7))


ROOMS = (
    ("hash(obj.id + queues.objects_1, 1) % 9 - 1.5", "hash(tails.id_1, 2) % 4 - 0.5"),
    ("hash(tails.last_access_2 + tails.size_1, 1) % 7", "hash(ghosts.used_1, 2) % 3"),
    ("hash(tails.id_2 + ghosts.used_2, 3) % 8 - 1 + 1e9 * (now % 5 == 4)", "2"),
)


@pytest.mark.parametrize("weight", [1, 10])
@pytest.mark.parametrize("room", ROOMS)
def test_whatever_a_handler_sets_the_kernel_does_as_the_plain_mechanism(room, weight):
    random = Random(weight)
    drawn = [min(int(random.paretovariate(0.7)), 30) for _ in range(300)]
    numbers: dict[int, int] = {}
    requests = [(numbers.setdefault(key, len(numbers)), random.randint(1, 9)) for key in drawn]
    answers = {
        "insert": "hash(now, 5) % 5 - 0.5",
        "hit": "hash(obj.hits, 6) % 5",
        "tail": "hash(obj.id + obj.hits, 7) % 4 - 1",
        "share": "cache.capacity / (1 + queue)",
    }
    plain = assert_equal(with_room(*room, **answers), requests, 40 * weight, weight=weight)
    assert plain.evictions
