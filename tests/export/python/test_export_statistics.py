"""Every operation and statistic has the bits of the reference in an exported module, and costs nothing unused."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from anvil_toy import TOY, returning
from anvil_values import values_for
from effort import ALL
from exported_run import Exported, compare, few_values, life, module_of

from vulcan.anvil import check
from vulcan.anvil.grammar import grammar
from vulcan.task import Feature, Global, Objective, Scalar, Task, Value

ARGUMENTS = {
    "": ("",), "alpha": ("0.001", "0.3", "0.999"), "k": ("1", "2", "5", "64"), "n": ("1", "2", "7", "64"),
    "p": ("0", "0.25", "0.5", "0.999", "1"),
}  # fmt: skip


def spelled(owner: str, feature: str, kind: grammar.StatisticKind, value: str) -> Iterator[str]:
    """The statistic with a range of arguments, looking for the value where it looks for one."""
    names = [argument.name for argument in kind.arguments] or [""]
    for i in range(max(len(ARGUMENTS[name]) for name in names)):
        numbers = [ARGUMENTS[name][i % len(ARGUMENTS[name])] for name in names]
        given = [*([value] if kind.looks_for else []), *(number for number in numbers if number)]
        yield f"{owner}.{feature}.{kind.name}({', '.join(given)})"


def statistics() -> Iterator[tuple[str, grammar.Scope, str]]:
    """Each kind, at each scope, of each feature of the toy task: kind, scope and expression."""
    names = [f.name for f in TOY.signature.entity.features if f.name != "id"]
    for kind in grammar.STATISTICS.values():
        for scope in kind.scopes:
            for name in names:
                owner = "item" if scope == "entity" else "world"
                for text in spelled(owner, name, kind, f"item.{name}"):
                    yield kind.name, scope, text
        if "system" in kind.scopes:
            for feature in ("world.load", "world.members"):
                for text in spelled(*feature.split("."), kind, feature):
                    yield kind.name, "system", text
            for text in spelled("now", "", kind, "now"):
                yield kind.name, "system", text.replace("..", ".")
            if kind.looks_for:
                for text in spelled("world", "id", kind, "item.id"):
                    yield kind.name, "system", text


@pytest.mark.parametrize("scope", ["entity", "system", "population"])
@pytest.mark.parametrize("kind", grammar.STATISTICS)
def test_each_statistic_has_the_bits_of_the_reference(kind: str, scope: str) -> None:
    texts = [text for name, where, text in statistics() if (name, where) == (kind, scope)][:: 1 if ALL else 4]
    assert bool(texts) == (scope in grammar.STATISTICS[kind].scopes)
    random = Random(f"{kind} {scope}")
    answers: set[float] = set()
    for text in texts:
        policy = check(returning(text), TOY)
        assert [(s.kind, s.scope) for s in policy.plan.statistics] == [(kind, scope)]
        events = life(TOY, random, 60 if ALL else 25, few_values)
        assert compare(policy, events) > (60 if ALL else 25)
        reference = policy.reference()
        for key, values in events:
            if values is not None:
                answers.add(reference(values, key))
                reference.observe(key, values)
    assert not texts or len(answers) > 1  # else the statistic was not put to the test


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
        events = life(TOY, Random(text), count, drawn, keys)
        assert compare(check(returning(text), TOY), events) > count


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
        assert compare(policy, life(task, random, 100, few_values)) == 200


# What is kept, and for how long


@pytest.mark.parametrize("scope", ["entity", "system", "population"])
def test_nothing_of_an_entity_stays_once_it_left(scope: str) -> None:
    texts = [text for _, where, text in statistics() if where == scope][::7]
    policy = check(returning(" + ".join(texts)), TOY)
    exported = Exported(policy, module_of(policy)[1])
    exported.entity_class = type("Item", (exported.entity_class,), {})
    gc.freeze()  # what is there already need not be looked through each time
    try:
        for key, values in life(TOY, Random(1), 40, few_values):
            if values is not None:
                exported.observe(key, values)
                left = weakref.ref(exported.live[key])
                exported.leave(key)
                gc.collect()
                assert left() is None
    finally:
        gc.unfreeze()
