"""Values of features, extreme and ordinary, within the declared ranges, and what programs make of them."""

from __future__ import annotations

from random import Random

from vulcan.anvil import ir
from vulcan.anvil.interpreter import Reference
from vulcan.anvil.plan import make_plan
from vulcan.task import Feature, History, Signature, Task

_EXTREMES = (0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 5e-324, 2.2250738585072014e-308, -1e-310, 2.0**53, 1e16, 1e-5, 709.8, 1e154)


def value_of(feature: Feature, random: Random, tame: bool = False) -> float:
    """Return a value of the feature; where `tame`, of a magnitude of at most 100 if the range has such."""
    low, high = feature.low, feature.high
    if tame:
        low, high = max(low, -100.0) if high > -100.0 else low, min(high, 100.0) if low < 100.0 else high
    match random.randrange(5):
        case 0:
            value = random.choice((low, high))
        case 1:
            value = random.choice(_EXTREMES)
        case 2:
            value = 2.0 ** random.uniform(-30.0, 60.0) * random.choice((-1.0, 1.0))
        case _:
            value = low + (high - low) * random.random()
    value = min(max(value, low), high)
    return value if feature.type == "float" else float(round(value))


def values_for(signature: Signature, random: Random, tame: bool = False) -> dict[str, float]:
    values = {name: value_of(feature, random, tame) for name, feature in signature.features()}
    for argument in signature.arguments:
        if isinstance(argument, History):
            remembered = random.random() < 0.7
            values[f"{argument.name}.contains"] = float(remembered)
            values[f"{argument.name}.count"] = float(random.randrange(1, 2**20)) if remembered else 0.0
            values[f"{argument.name}.age"] = float(random.randrange(int(values["now"]) + 1)) if remembered else 0.0
    return values


def runs(program: ir.Module, task: Task, seed: int) -> list[float]:
    """What each function gives in a random life of a few entities."""
    random, found = Random(seed), []
    reference = Reference(program, make_plan(program, 10**9), task.interface)
    assert task.signature.entity is not None
    for _ in range(10):
        key = float(random.randrange(3))
        values = values_for(task.interface, random) | {f"{task.signature.entity.name}.id": key}
        reference.observe(key, values)
        found += [reference.ask(function.name, values, key) for function in program.entries]
    return found
