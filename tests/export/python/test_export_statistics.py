"""Every operation and statistic has the bits of the reference in an exported module, and costs nothing unused."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from random import Random
from typing import Any

import pytest
from anvil_toy import TOY, returning
from anvil_values import values_for
from effort import ALL
from exported_run import Exported, every_statistic, few_values, module_of
from exported_state import compare_lives

from vulcan.anvil import check
from vulcan.task import Feature, Global, Objective, Scalar, Task, Value


@pytest.mark.parametrize("feature", ["whole", "signed", "positive", "huge", "flag"])
def test_every_statistic_has_the_bits_of_the_reference(feature: str) -> None:
    for at in (0.0, 0.01, 0.1, 0.5, 1.0):
        policy = check(every_statistic(feature, at), TOY)
        assert compare_lives(policy, Random(feature), 300 if ALL else 140, drawn=few_values) == (300 if ALL else 140)


AT_EDGES = (
    "item.signed / item.signed", "1 / 0", "1 // item.whole", "item.whole % item.signed", "0 ** -1",
    "item.below ** 0.5", "item.huge * item.huge", "item.huge * item.huge - item.huge * item.huge",
    "math.log(item.whole)", "math.log1p(item.below)", "math.sqrt(item.signed)", "math.exp(item.huge)",
    "math.expm1(item.huge)", "item.below ** 1001", "int(item.signed)", "int(-item.tiny)", "round(item.signed)",
    "math.floor(-item.tiny)", "math.ceil(item.signed)", "-0.0", "not item.whole", "bool(item.tiny)",
    "item.whole and item.flag or item.below", "1 < item.positive <= 3 < 5", "min(item.flag, 0.0, -0.0)",
    "(item.signed if item.flag else item.below) ** 2", "-item.whole ** 2", "2 ** -item.whole", "(-2) ** 3",
    "math.pi * math.e", "True + True", "math.atan(item.huge) + math.tanh(item.signed)", "item.huge % 7",
)  # fmt: skip
LOOKED_FOR = (
    "world.id.contains(item.whole, 8)", "world.id.count(3, 9)", "item.whole.count(now, 64)",
    "item.flag.contains(item.flag.recent(2), 5)", "world.load.count(-0.0, 12)",
    "world.id.count(world.id.contains(item.id, 3), 8)",
)  # fmt: skip
LONG = (
    "world.id.count(item.id, 512) + world.id.contains(item.id, 7)", "world.signed.window_avg(300)",
    "world.positive.window_percentile(0.9, 511)", "world.whole.count(item.whole, 4096)", "now.recent(700)",
)  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "count", "drawn", "keys"),
    [(AT_EDGES, 150, values_for, 4), (LOOKED_FOR, 100, few_values, 4), (LONG, 1_200 if ALL else 720, few_values, 40)],
    ids=["operations at their edges", "any value is looked for", "long windows of the system"],
)
def test_expressions_have_the_bits_of_the_reference(texts: tuple[str, ...], count: int, drawn: Any, keys: int) -> None:
    for text in texts:
        policy = check(returning(text), TOY)
        assert compare_lives(policy, Random(text), 2 * count, drawn=drawn, keys=range(keys)) == 2 * count


# Tasks without an entity, or without a group of features

FEATURES = (
    Feature("rtt", "float", "seconds", 0.001, 10.0, "the latest round-trip time", unknown=0.5),
    Feature("acked", "int", "packets", 0.0, 1e6, "packets"),
)
LINK = Global("link", "the connection", FEATURES)
FLOW = Global("flow", "its flow", FEATURES)
LOSS = Scalar(Feature("loss", "bool", "flag", 0.0, 1.0, "whether a packet was lost"))
STATISTICS = Scalar(Feature("statistics", "int", "packets", 0.0, 9.0, "a name that the module would have liked"))
TEXTS = {
    "link": "link.rtt.min() + link.rtt.window_percentile(0.5, 9) + link.acked.count(link.acked, 3)",
    "flow": "flow.rtt.avg() * link.rtt.avg() + flow.acked.recent(2) - link.acked.recent(2)",
    "loss": "loss.ewma(0.25) + loss.window_avg(8) + loss.latest() + 3 * loss.contains(1, 5)",
    "statistics": "statistics.max() + statistics.ewma(0.5)",
}


@pytest.mark.parametrize(
    "arguments",
    [(LINK, LOSS), (LOSS, FLOW, LINK), (LOSS,), (STATISTICS, LOSS)],
    ids=["a group", "two groups", "no group", "no group and a name that is taken"],
)
def test_a_task_without_an_entity_has_the_bits_of_the_reference(arguments: tuple[Scalar | Global, ...]) -> None:
    task = Task(
        name="toy_value", summary="Nothing.", signature=Value("window", arguments, "a number"),
        evaluator="nowhere:Nothing", directory=Path(__file__).parent,
        objectives=(Objective("only", "number", "the number", lambda metrics, references: metrics["number"]),),
    )  # fmt: skip
    names = {argument.name for argument in arguments}
    texts = [text for text in TEXTS.values() if set(re.findall(r"[a-z]+(?=\.[a-z])", text)) & set(TEXTS) <= names]
    random = Random(4)
    for text in [*texts, " + ".join(texts)]:
        policy = check(f"def window({', '.join(a.name for a in arguments)}):\n    return {text}\n", task)
        assert compare_lives(policy, random, 200, drawn=few_values) == 200


# What is kept, and for how long


def test_nothing_of_an_entity_stays_once_it_left() -> None:
    policy = check(every_statistic("whole"), TOY)
    exported, random = Exported(policy, module_of(policy)[1]), Random(1)
    exported.entity_class = type("Item", (exported.entity_class,), {})
    gc.freeze()  # what is there already need not be looked through each time
    try:
        for key in range(40):
            exported.observe(key, few_values(TOY.interface, random) | {"item.id": key})
            left = weakref.ref(exported.live[key])
            exported.leave(key)
            gc.collect()
            assert left() is None
    finally:
        gc.unfreeze()
