"""Policies that keep state and handle the queue's events: CoDel and PIE, and random ones against plain Python."""

from __future__ import annotations

from random import Random

import pytest
from effort import examples, slow
from plain_queue_manager import PlainQueueManager, plain_run, unmanaged
from stateful_programs import stateful_programs

from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_link.aqm.manager import QueueManager
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

TASK = find_task("active_queue_management")
POLICIES = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}
LINKS = (
    "constant:rate=24",
    "steps:rates=24-6-16-3,every=3",
    "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60",
)
DECISION = "def drop_probability(queue):\n    return {}\n"


def scenario(
    link: str, flows: int, *, kind: str = "droptail", ecn: bool = False, seconds: float = 10.0, packets: int = 300
) -> Scenario:
    """Flows of which every third, with ECN, is not capable of it."""
    return Scenario(
        load_link(link),
        Queue(kind=kind, packets=packets, ecn=ecn),  # type: ignore[arg-type]
        tuple(
            Flow(("cubic", "reno")[i % 2], delay_ms=20.0, ecn=ecn and i % 3 != 2, start_s=0.05 * i)
            for i in range(flows)
        ),
        duration_s=seconds,
        measure_from_s=min(2.0, seconds / 2),
    )


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("link", LINKS)
def test_codel_written_as_a_policy_is_the_kernels_own_packet_by_packet(link: str, ecn: bool) -> None:
    """Every count and every delay is the same, to the bit."""
    for flows in (1, 5, 20):
        own = simulate(scenario(link, flows, kind="codel", ecn=ecn))
        policy = simulate(scenario(link, flows, ecn=ecn), manager=QueueManager("policy", POLICIES["codel"]))
        assert unmanaged(policy) == own
        assert own.dropped + own.marked > 3


@pytest.mark.parametrize(("link", "ecn"), [slow(LINKS[1], False), (LINKS[2], True), slow(LINKS[0], True)])
def test_pie_written_as_a_policy_is_the_kernels_own_given_its_draws(link: str, ecn: bool) -> None:
    """The kernel's PIE draws only for probabilities between 0 and 1, a policy's mechanism for each packet."""
    compared = scenario(link, 6, ecn=ecn, seconds=4.0)
    own = simulate(compared, manager=QueueManager("pie", seed=3))
    policy = plain_run(compared, PlainQueueManager(POLICIES["pie"], seed=3, saves_draws=True))
    assert unmanaged(policy) == unmanaged(own)
    assert own.dropped + own.marked > 10


def test_random_policies_with_state_decide_as_plain_python() -> None:
    random, dropped, marked = Random(1), 0, 0
    for number, policy in enumerate(stateful_programs(TASK, random, examples(60))):
        compared = scenario(
            random.choice(LINKS), 2 + number % 3, ecn=number % 2 == 1, seconds=0.3, packets=random.choice((8, 40))
        )
        native = simulate(compared, manager=QueueManager("policy", policy, seed=number))
        assert native == plain_run(compared, PlainQueueManager(policy, seed=number)), policy.source
        dropped, marked = dropped + native.dropped, marked + native.marked
    assert dropped > 20
    assert marked > 2


def counting(handlers: str, result: str) -> Policy:
    return check(f"class policy:\n    n = 0\n\n\n{handlers}\n\n" + DECISION.format(result), TASK)


def test_a_timer_is_called_at_the_times_that_it_asks_for() -> None:
    """Ten milliseconds apart, from time 0: at time t it was called t / 10 + 1 times; nothing asked, only once."""
    ticks = "def on_timer(queue):\n    policy.n += 1\n    {}\n"
    right = counting(ticks.format("queue.timer_ms = 10"), "policy.n != queue.now_ms // 10 + 1")
    once = counting(ticks.format("pass"), "policy.n != 1")
    for policy in (right, once):
        assert simulate(scenario(LINKS[0], 3), manager=QueueManager("policy", policy)).drop_share < 0.01


def test_what_is_in_the_queue_is_what_came_less_what_left() -> None:
    handlers = (
        "def on_enqueue(queue, packet):\n    policy.n += 1\n\n\ndef on_dequeue(queue, packet):\n    policy.n -= 1\n"
    )
    policy = counting(handlers, "policy.n != queue.packets")
    assert simulate(scenario(LINKS[0], 1, packets=2000), manager=QueueManager("policy", policy)).dropped == 0


def test_a_policy_may_drop_every_packet_as_it_departs() -> None:
    policy = counting("def on_dequeue(queue, packet):\n    packet.drop = 1\n", "0 * policy.n")
    result = simulate(scenario(LINKS[0], 2), manager=QueueManager("policy", policy))
    assert (result.delivered, result.dropped) == (0, result.sent)
