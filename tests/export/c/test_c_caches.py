"""Caches whose policy runs in C, statistics and all, have the bits of Python and the misses of the simulator."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from anvil_twin import bits
from cache_formats import CASES, requests, simulated, text_of
from compiled import Doubles

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.task import Entity, Global, History, Scalar

KEYS = 300
NAMES = [
    "gdsf heap", "rich sample", "rich heap", "little heap", "little sample", "s3_fifo queues", "hits_evict queues",
    *(name for name in CASES if name.startswith(("ghost ", "statistics "))),
]  # fmt: skip


class InC:
    """Puts C in place of the functions of an exported Python module, and tells C of what its statistics are told."""

    def __init__(self, source: str) -> None:
        self.policy = check(source, find_task("cache_eviction"))
        self.signature = self.policy.task.interface
        self.module = ModuleType("exported")
        exec(text_of(source, "python"), vars(self.module))
        self.c = Doubles(self.policy, most_keys=KEYS)
        self.asked = {f"{q.history}.{q.query}" for q in self.policy.plan.queries}
        self.compared = 0
        for declared in self.policy.task.functions:
            setattr(self.module, declared.function, self.function(declared.function, list(declared.arguments)))
        self.statistics = self.module._Statistics
        self.told = [a for a in self.signature.arguments if not isinstance(a, History) and a.name != "cache"]
        for event in ("enter", "update"):
            setattr(self.statistics, event, self.observation(event))
        self.statistics.leave = self.departure()

    def function(self, name: str, arguments: list[Any]) -> Any:
        python = getattr(self.module, name)

        def ask(*given: Any) -> float:
            expected = python(*given)
            values, key = self.values(zip(arguments, given, strict=False))
            got = self.c.score(key, values, name)
            assert bits(got) == bits(float(expected)), f"{name}: C {got!r}, Python {expected!r} of {values}"
            self.compared += 1
            return got

        return ask

    def observation(self, event: str) -> Any:
        python = getattr(self.statistics, event)
        cache = next(a for a in self.signature.arguments if a.name == "cache")

        def tell(state: Any, *given: Any) -> None:
            python(state, *given)
            values, key = self.values([(cache, state), *zip(self.told, given, strict=True)])
            assert (key in self.c.live) == (event == "update")
            self.c.observe(key, values)

        return tell

    def departure(self) -> Any:
        python = self.statistics.leave

        def leave(state: Any, obj: Any) -> None:
            python(state, obj)
            if obj.key in self.c.live:  # nothing is told of objects where a policy has no statistics
                self.c.leave(obj.key)

        return leave

    def values(self, shown: Any) -> tuple[dict[str, float], int | None]:
        """Each feature by name, as the arguments show it, and the key of the entity among them."""
        values = dict.fromkeys(self.c.names, 0.0)
        key = None
        shown = list(shown)
        for argument, given in shown:
            match argument:
                case Scalar():
                    values[argument.name] = given
                case Entity(features=features) | Global(features=features):
                    values |= {f"{argument.name}.{f.name}": float(getattr(given, f.name)) for f in features}
                    key = given.key if isinstance(argument, Entity) else key
                case _:
                    pass
        for argument, given in shown:
            if isinstance(argument, History):
                own = (name.partition(".")[2] for name in self.asked)
                obj = next(thing for a, thing in shown if isinstance(a, Entity))
                values |= {f"{argument.name}.{query}": getattr(given, query)(obj.id) for query in own}
        return values, key


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_in_c_has_the_misses_of_the_simulator(name: str) -> None:
    source = CASES[name]
    objects, sizes = requests(1_000, KEYS, seed=8)
    in_c = InC(source)
    cache = in_c.module.Cache(40_000)
    for key, size in zip(objects.tolist(), sizes.tolist(), strict=True):
        cache.request(key, size)
    assert (cache.misses, cache.bypassed) == simulated(source, objects, sizes, 40_000)
    assert in_c.compared > 400
    assert in_c.c.live == (set(cache) if in_c.c.live else set())
