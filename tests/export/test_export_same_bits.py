"""The functions of an exported module give the bits that the reference gives, on generated programs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import ModuleType, SimpleNamespace

import pytest
from anvil_programs import random_program
from anvil_toy import TOY, returning
from anvil_twin import bits
from anvil_values import values_for
from exported import load, provenance

from vulcan.anvil import Policy, Rejected, check
from vulcan.export.module import python_module
from vulcan.export.template import Template
from vulcan.registry import find_task
from vulcan.task import Entity, Global, History, Scalar, Task

CACHE = replace(find_task("cache_eviction"), operations=TOY.operations)


class Exported:
    """An exported policy with its statistics, driven as `Policy.reference()` is."""

    def __init__(self, policy: Policy, module: ModuleType) -> None:
        self.signature = policy.task.signature
        self.function = getattr(module, self.signature.function)
        self.state = getattr(module, "_Statistics", SimpleNamespace)()
        self.entity_class = type("Item", (getattr(module, "_Entity", object),), {})
        self.live: dict[float, object] = {}
        self.counts = hasattr(module, "_Statistics")

    def observe(self, key: float, values: dict[str, float]) -> None:
        entered = key not in self.live
        entity = self.live.setdefault(key, self.entity_class())
        self.show(entity, values)
        if self.counts:
            (self.state.enter if entered else self.state.update)(entity)

    def show(self, entity: object, values: dict[str, float]) -> None:
        argument = self.signature.entity
        assert argument is not None
        for feature in argument.features:
            setattr(entity, feature.name, values[f"{argument.name}.{feature.name}"])

    def leave(self, key: float) -> None:
        entity = self.live.pop(key)
        if self.counts:
            self.state.leave(entity)

    def score(self, key: float, values: dict[str, float]) -> float:
        entity = self.live[key]
        self.show(entity, values)
        arguments = []
        for argument in self.signature.arguments:
            match argument:
                case Scalar():
                    arguments.append(values[argument.name])
                case Entity():
                    arguments.append(entity)
                case Global(features=features):
                    for feature in features:
                        setattr(self.state, feature.name, values[f"{argument.name}.{feature.name}"])
                    arguments.append(self.state)
                case History():
                    arguments.append(_answers(argument.name, key, values))
        return self.function(*arguments)


def _answers(history: str, key: float, values: dict[str, float]) -> SimpleNamespace:
    def answer(query: str):
        def ask(asked: float) -> float:
            assert asked == key
            return values[f"{history}.{query}"]

        return ask

    return SimpleNamespace(**{query: answer(query) for query in ("contains", "count", "age")})


def agree(source: str, task: Task, random: Random, events: int = 8) -> int:
    """Run a random life of a few entities; gives how many scores were compared."""
    policy = check(source, task)
    text = python_module(policy, provenance(), Template())
    reference, exported = policy.reference(), Exported(policy, load(text))
    compared = 0
    for _ in range(events):
        key = random.choice((0.0, 1.0, 2.0))
        if key in exported.live and random.random() < 0.2:
            exported.leave(key)
            reference.forget(key)
            continue
        values = values_for(task.signature, random) | {f"{task.signature.entity.name}.id": key}
        reference.observe(key, values)
        exported.observe(key, values)
        expected, got = reference(values, key), exported.score(key, values)
        assert isinstance(got, float), f"{got!r} by\n{source}\n{text}"
        assert bits(got) == bits(expected), f"exported {got!r}, reference {expected!r} of {values} by\n{source}\n{text}"
        compared += 1
    return compared


def run_many(task: Task, seed: int, programs: int) -> int:
    random = Random(seed)
    compared = done = 0
    while done < programs:
        source = random_program(task.signature, random, extremes=random.random() < 0.6)
        try:
            compared += agree(source, task, random)
            done += 1
        except Rejected as rejected:
            assert all(v.rule in ("operations", "too-large") for v in rejected.violations), f"{rejected}\n{source}"
    return compared


@pytest.mark.parametrize("task", [pytest.param(TOY, id="toy"), pytest.param(CACHE, id="cache_eviction")])
def test_generated_programs_give_the_same_bits_as_the_reference(task: Task) -> None:
    assert run_many(task, seed=11, programs=250) > 1_400


@pytest.mark.slow
@pytest.mark.parametrize("task", [pytest.param(TOY, id="toy"), pytest.param(CACHE, id="cache_eviction")])
def test_ten_thousand_generated_programs_give_the_same_bits_as_the_reference(task: Task) -> None:
    assert run_many(task, seed=12, programs=10_000) > 60_000


@pytest.mark.parametrize(
    "expression",
    [
        "item.signed / item.signed", "1 / 0", "1 // item.whole", "item.whole % item.signed", "0 ** -1",
        "item.below ** 0.5", "item.huge * item.huge", "item.huge * item.huge - item.huge * item.huge",
        "math.log(item.whole)", "math.log1p(item.below)", "math.sqrt(item.signed)", "math.exp(item.huge)",
        "math.expm1(item.huge)", "item.below ** 1001", "int(item.signed)", "int(-item.tiny)", "round(item.signed)",
        "math.floor(-item.tiny)", "math.ceil(item.signed)", "-0.0", "not item.whole", "bool(item.tiny)",
        "item.whole and item.flag or item.below", "1 < item.positive <= 3 < 5", "min(item.flag, 0.0, -0.0)",
        "(item.signed if item.flag else item.below) ** 2", "-item.whole ** 2", "2 ** -item.whole", "(-2) ** 3",
        "math.pi * math.e", "True + True", "math.atan(item.huge) + math.tanh(item.signed)", "item.huge % 7",
    ],
)  # fmt: skip
def test_each_operation_gives_the_same_bits_at_its_edges(expression: str) -> None:
    assert agree(returning(expression), TOY, Random(3), events=150) > 100
