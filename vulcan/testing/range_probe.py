"""A policy that records feature values outside their declared ranges: as a Python callable, and as machine code."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vulcan.anvil import Layout, Policy, ir
from vulcan.anvil.interpreter import Features, Reference
from vulcan.anvil.plan import Plan
from vulcan.anvil.policy import interface_of
from vulcan.task import MECHANISM, Event, Feature, Signature, Task

if TYPE_CHECKING:
    from vulcan.anvil.native.compile import Native

_DECIDES, _OBSERVES = (
    ctypes.CFUNCTYPE(gives, *[ctypes.c_void_p] * 3, ctypes.c_double) for gives in (ctypes.c_double, None)
)
"""Entry points of machine code: globals, entity and statistics, and the entity's key."""


@dataclass
class Violations:
    """The range violations of each feature: their number, and one value.

    `events` counts what statistics took in: under "" the events, under its name each occasion; and, under the name of
    its handler, each event that the policy was told of. `asked` and `known`
    count the calls for an entity in plain Python, and those for one that was observed before.
    """

    count: dict[str, int] = field(default_factory=dict)
    value: dict[str, float] = field(default_factory=dict)
    checks: int = 0
    events: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    known: int = 0
    machine: list[Any] = field(default_factory=list)
    """The callbacks in place of machine code, kept as long as it may call them."""

    def check(self, shown: Any, ranges: Iterable[_Range]) -> None:
        """Check values of a block, or of features by name: the innermost loop of a measurement that is watched."""
        for name, place, low, high, is_whole in ranges:
            value = float(shown[place])
            self.checks += 1
            if not low <= value <= high or (is_whole and not value.is_integer()):
                self.count[name] = self.count.get(name, 0) + 1
                self.value[name] = value

    def observed(self, occasion: str) -> None:
        self.events[occasion] = self.events.get(occasion, 0) + 1


_Range = tuple[str, Any, float, float, bool]
"""A feature's name, its place in what is shown, the ends of its range, and whether it is integral."""


def _range(name: str, feature: Feature, place: Any) -> _Range:
    low, high = (
        (max(feature.low, 0.0), min(feature.high, 1.0)) if feature.type == "bool" else (feature.low, feature.high)
    )
    return name, place, low, high, feature.type != "float"


@dataclass(frozen=True)
class WatchedPolicy(Policy):
    """A policy whose runs record range violations."""

    seen: Violations = field(default_factory=Violations)

    @classmethod
    def of(cls, policy: Policy) -> WatchedPolicy:
        return cls(policy.source, policy.task, policy.program, policy.plan)

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        """Put a callback that checks features before each entry point of machine code."""
        native = super().native(layout, hurried)
        made = copy.copy(native)
        interface = self.task.interface
        declared, occasions = dict(interface.features()), interface.occasions
        at_events = {name: f for name, f in declared.items() if name not in occasions}

        def watch(address: int, features: Mapping[str, Feature], kind: Any, occasion: str | None = None) -> int:
            if address == 0:
                return 0
            target = kind(address)
            ranges: dict[str, list[_Range]] = {"globals": [], "entity": [], "key": []}
            for name, feature in features.items():
                if name in layout.features:
                    slot = layout.features[name]
                    ranges[slot.base].append(_range(name, feature, slot.index))
            of_globals, of_entity, of_key = ranges.values()
            block = ctypes.c_double * (1 + max((place for of in ranges.values() for _, place, *_ in of), default=0))

            def callback(globals_: int, entity: int, statistics: int, key: float) -> Any:
                if of_globals:
                    self.seen.check(block.from_address(globals_), of_globals)
                if of_entity:
                    self.seen.check(block.from_address(entity), of_entity)
                self.seen.check((key,), of_key)
                if occasion is not None:
                    self.seen.observed(occasion)
                return target(globals_, entity, statistics, key)

            self.seen.machine.append(watching := kind(callback))
            return ctypes.cast(watching, ctypes.c_void_p).value or 0

        made.scores = {
            name: watch(address, dict(self.task.function(name).features()), _DECIDES)
            for name, address in native.scores.items()
        }
        made.score = made.scores.get(self.task.signature.function) or watch(native.score, declared, _DECIDES)
        made.enter = watch(native.enter, at_events, _OBSERVES, "")
        made.update = watch(native.update, at_events, _OBSERVES, "")
        made.occasions = {
            occasion: watch(
                address, {n: declared[n] for n, o in occasions.items() if o == occasion}, _OBSERVES, occasion
            )
            for occasion, address in native.occasions.items()
        }
        made.events = {
            name: watch(address, dict(self.task.event(name).features()), _OBSERVES, name)
            for name, address in native.events.items()
        }
        return made

    def reference(self, seed: int = 0) -> Reference:
        return WatchedReference(self.program, self.plan, self.task, self.seen, seed)


class WatchedReference(Reference):
    """A policy as a Python callable that records range violations."""

    def __init__(self, program: ir.Module, plan: Plan, task: Task, seen: Violations, seed: int = 0) -> None:
        super().__init__(program, plan, interface_of(task, program), seed)
        self._task = task
        self._seen = seen
        self._occasions_of = task.interface.occasions
        self._of_function = {f.function: dict(f.features()) for f in task.functions}
        self._all = dict(task.interface.features())

    def __call__(self, features: Features, key: Hashable = None) -> float:
        self._asked(key)
        self._look(self._of_function.get(self._program.entry.name, self._all), features)
        return super().__call__(features, key)

    def ask(self, function: str, features: Features, key: Hashable = None) -> float:
        self._asked(key)
        self._look(self._of_function[function], features)
        return super().ask(function, features, key)

    def observe(self, key: Hashable, features: Features) -> None:
        self._look({n: f for n, f in self._all.items() if n not in self._occasions_of and n in features}, features)
        self._seen.observed("")
        super().observe(key, features)

    def observe_occasion(self, occasion: str, features: Features) -> None:
        self._look({n: self._all[n] for n, o in self._occasions_of.items() if o == occasion}, features)
        self._seen.observed(occasion)
        super().observe_occasion(occasion, features)

    def handle(self, event: str, features: Features, key: Hashable = None) -> dict[str, float]:
        self._look(dict(self._task.event(event).features()), features)
        self._seen.observed(event)
        return super().handle(event, features, key)

    def _asked(self, key: Hashable) -> None:
        self._seen.asked += 1
        self._seen.known += key in self._entities

    def _look(self, declared: Mapping[str, Feature], features: Features) -> None:
        self._seen.check(features, (_range(name, feature, name) for name, feature in declared.items()))


def reading_everything(declared: Signature, answer: str, statistic: str = "") -> str:
    """Return the source of a function that reads every feature and returns `answer`, an expression in `total`.

    With `statistic`, such as `.ewma(0.5)`, it reads that of each feature that has statistics.
    """
    lines = [_head(declared), "    total = 0.0"]
    with_statistics = set(features_with_statistics(declared))
    for name, _ in declared.features():
        lines.append(f"    total = total + {name}{statistic if name in with_statistics else ''}")
    # reads must affect the result, or they are optimised away
    lines += ["    if total > 1e299:", "        return 0.5", f"    return {answer}"]
    return "\n".join(lines) + "\n"


SET = 1000.0
"""What a handler of a conformance check sets each control to, as far as its range allows."""


def with_handlers(policy: Policy, event: Event, others: Iterable[Event] = ()) -> str:
    """Return the policy's source with a handler of the event, which reads every feature, and of `others` with controls.

    Each sets every control; handlers that the policy has are left as they are.
    """
    handled = {handler.name for handler in policy.program.handlers}
    functions = [policy.source.rstrip()]
    for added in (event, *(other for other in others if other.settable and other != event)):
        if added.function not in handled:
            lines = [_head(added), "    sum_of_all = 0.0"]
            read = [name for name, _ in added.features()] if added == event else []
            lines += [f"    sum_of_all = sum_of_all + {name}" for name in read]
            lines += [f"    {name} = {min(max(SET, f.low), f.high)!r}" for name, f in added.settable.items()]
            functions.append("\n".join(lines))
    return "\n\n\n".join(functions) + "\n"


def answering(task: Task, answer: str) -> str:
    """Return the source of a policy whose functions return `answer`, an expression in `read`, a feature."""
    lines = [*mechanism_line(task)]
    for declared in task.functions:
        read = next((name for name, _ in declared.features()), "1.0")
        lines += [_head(declared), f"    read = {read}", f"    return {answer}"]
    return "\n".join(lines) + "\n"


def mechanism_line(task: Task) -> list[str]:
    """Return the line by which a policy of this variant of a task names its mechanism; none where there is one."""
    return [f'{MECHANISM} = "{task.mechanism}"'] if MECHANISM in task.policy_choices else []


def _head(declared: Signature) -> str:
    return f"def {declared.function}({', '.join(argument.name for argument in declared.arguments)}):"


def features_with_statistics(declared: Signature) -> list[str]:
    """Return the features of entities and groups that have statistics: all but the identity of the entity."""
    key = f"{declared.entity.name}.{declared.entity.key}" if declared.entity is not None else None
    return [name for name, _ in declared.features() if "." in name and name != key]
