"""Features that are observed on an occasion: their statistics move then, and at no other event."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from anvil_toy import TOY, TOY_LAYOUT
from anvil_twin import Twin
from anvil_two import TWO, TWO_LAYOUT, WIND, defining
from anvil_values import values_for

from vulcan.anvil import Layout, Policy, Slot, check
from vulcan.task import Entity, Feature, Global, Task, Value

WINDOW = Global(
    "window",
    "the latest round trip",
    (
        Feature("delivered", "int", "bytes", 0.0, 2.0**40, "bytes delivered in it", unknown=5.0),
        Feature("lost", "int", "bytes", 0.0, 2.0**40, "bytes lost in it"),
    ),
    observed="round_trip",
)
FLOW = Global("flow", "the connection", (Feature("rtt", "float", "seconds", 0.0, 60.0, "the latest round trip time"),))

TASK = Task(
    name="toy_flow",
    summary="How much may be under way.",
    signature=Value("cwnd", (FLOW, WINDOW), "a window"),
    evaluator="nowhere:Nothing",
    objectives=TOY.objectives,
    directory=Path(__file__).parent,
)
LAYOUT = Layout(
    {"flow.rtt": Slot("globals", 2), "window.delivered": Slot("globals", 0), "window.lost": Slot("globals", 1)}, 3
)


def policy(expression: str) -> Policy:
    """Return one that returns the expression."""
    return check(f"def cwnd(flow, window):\n    return {expression}\n", TASK)


def shown(delivered: float, rtt: float = 1.0, lost: float = 0.0) -> dict[str, float]:
    return {"flow.rtt": rtt, "window.delivered": delivered, "window.lost": lost}


def test_history_windows_of_a_round_trip_each() -> None:
    """`recent(k)` is the k-th latest round trip, however many events there are between two of them."""
    for k in (1, 2, 3, 10):
        twin = Twin(policy(f"window.delivered.recent({k})"), LAYOUT)
        for trip in range(1, 15):
            for event in range(trip % 4):
                twin.observe(None, shown(1000.0 * trip + event))
            twin.occur("round_trip", shown(100.0 * trip))
            twin.observe(None, shown(7.0))
            assert twin.score(None, shown(7.0)) == (100.0 * (trip - k + 1) if trip >= k else 5.0)


def test_what_nothing_needs_is_not_there() -> None:
    only = policy("window.delivered.avg()").native(LAYOUT)
    assert (only.update, only.enter, only.leave) == (0, 0, 0) and only.occasions["round_trip"]
    other = policy("flow.rtt.avg()").native(LAYOUT)
    assert other.update and other.occasions == {"round_trip": 0}
    assert policy("window.delivered").native(LAYOUT).occasions == {"round_trip": 0}
    plain = replace(TASK, signature=Value("cwnd", (FLOW,), "a window"))
    assert check("def cwnd(flow):\n    return flow.rtt.avg()\n", plain).native(LAYOUT).occasions == {}


def test_each_occasion_has_a_block_and_a_count_of_its_own() -> None:
    made = check(defining(steer="wind.speed.avg() + 1000 * tide.height.avg() + world.load.avg()"), TWO)
    blocks = made.plan.occasion_blocks(TWO.interface)
    assert {name: block.slots for name, block in blocks.items()} == {"gust": 2, "high_water": 2}
    assert made.plan.system_block(TWO.interface).slots == 2
    assert made.plan.bytes_of_system(TWO.interface) == 48
    assert [used.system for used in made.plan.memory(TWO.interface)] == [16, 16, 16]
    twin = Twin(made, TWO_LAYOUT)
    values = values_for(TWO.interface, Random(1))
    for speed in (1.0, 3.0, 8.0):
        twin.occur("gust", values | {"wind.speed": speed, "tide.height": 9.0})
    twin.occur("high_water", values | {"wind.speed": 50.0, "tide.height": 2.0})
    assert twin.reference.ask("steer", values) == 2004.0
    twin.score(1.0, values)


def test_a_group_under_an_entity_may_be_observed_on_an_occasion() -> None:
    """The population's statistics go on at every event of an entity; the group's own at the occasion alone."""
    world = next(a for a in TOY.signature.arguments if isinstance(a, Global))
    arguments = tuple(replace(world, observed="dawn") if a is world else a for a in TOY.signature.arguments)
    task = replace(TOY, signature=replace(TOY.signature, arguments=arguments))
    source = "def rate(now, item, world, past):\n    return world.load.max() * 1e6 + world.positive.max()\n"
    twin = Twin(check(source, task), TOY_LAYOUT)
    values = values_for(task.signature, Random(2))
    twin.observe(1.0, values | {"item.id": 1.0, "item.positive": 30.0, "world.load": 1.0})
    assert twin.score(1.0, values | {"item.id": 1.0}) == 30.0
    twin.occur("dawn", values | {"world.load": 0.5, "item.positive": 99.0})
    assert twin.score(1.0, values | {"item.id": 1.0}) == 500_030.0
    assert WIND.observed == "gust" and isinstance(task.signature.entity, Entity)
