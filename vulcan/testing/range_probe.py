"""A policy that records feature values outside their declared ranges.

Plain Python policies are wrapped. Machine code is entered through a generated stub that checks every feature slot of
the layout: an evaluator's kernel runs at full speed, and cannot notice.
"""

from __future__ import annotations

import copy
import ctypes
import itertools
import struct
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vulcan.anvil import Layout, Policy, ir
from vulcan.anvil.interpreter import Features, Reference
from vulcan.anvil.plan import Plan
from vulcan.anvil.policy import PolicyFunction, interface_of
from vulcan.task import MECHANISM, Event, Feature, Signature, Task

if TYPE_CHECKING:
    from vulcan.anvil.native.compile import Native

_serial = itertools.count()


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
    machine: list[WatchedMachineCode] = field(default_factory=list)

    def check(self, name: str, feature: Feature, value: float) -> None:
        self.checks += 1
        if not fits(feature, value):
            self.count[name] = self.count.get(name, 0) + 1
            self.value[name] = value

    def observed(self, occasion: str, count: int = 1) -> None:
        self.events[occasion] = self.events.get(occasion, 0) + count

    def collect(self) -> None:
        """Collect the violations recorded by machine code."""
        for watch in self.machine:
            calls = watch.take_calls()
            self.checks += calls * len(watch.names)
            if watch.occasion is not None:
                self.observed(watch.occasion, calls)
            for i, name in enumerate(watch.names):
                if watch.counts[i]:
                    self.count[name] = self.count.get(name, 0) + int(watch.counts[i])
                    self.value[name] = float(watch.values[i])


def fits(feature: Feature, value: float) -> bool:
    """Check whether a value is in the feature's range, and integral where declared so."""
    low, high = _range(feature)
    return low <= float(value) <= high and (feature.type == "float" or float(value).is_integer())


def _range(feature: Feature) -> tuple[float, float]:
    return (max(feature.low, 0.0), min(feature.high, 1.0)) if feature.type == "bool" else (feature.low, feature.high)


@dataclass(frozen=True)
class WatchedPolicy(Policy):
    """A policy whose runs record range violations."""

    seen: Violations = field(default_factory=Violations)

    @classmethod
    def of(cls, policy: Policy) -> WatchedPolicy:
        return cls(policy.source, policy.task, policy.program, policy.plan)

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        return self._watch_native(super().native(layout, hurried), layout)

    def reference(self, seed: int = 0) -> Reference:
        return WatchedReference(self.program, self.plan, self.task, self.seen, seed)

    def function(self, name: str | None = None) -> PolicyFunction:
        alone = super().function(name)
        return WatchedFunction(alone.task, alone.signature, alone.program, alone.plan, self)

    def _watch_native(self, native: Native, layout: Layout) -> Native:
        """Wrap the entry points of machine code in stubs that check features."""
        made = copy.copy(native)
        interface = self.task.interface
        declared, occasions = dict(interface.features()), interface.occasions
        at_events = {name: f for name, f in declared.items() if name not in occasions}

        def watch(address: int, features: Mapping[str, Feature], gives: str, occasion: str | None = None) -> int:
            if address == 0:
                return 0
            watching = WatchedMachineCode(address, features, layout, gives, occasion)
            self.seen.machine.append(watching)
            return watching.address

        made.scores = {
            name: watch(address, dict(self.task.function(name).features()), "double")
            for name, address in native.scores.items()
        }
        made.score = made.scores.get(self.task.signature.function) or watch(native.score, declared, "double")
        made.enter = watch(native.enter, at_events, "void", "")
        made.update = watch(native.update, at_events, "void", "")
        made.occasions = {
            occasion: watch(address, {n: declared[n] for n, o in occasions.items() if o == occasion}, "void", occasion)
            for occasion, address in native.occasions.items()
        }
        made.events = {
            name: watch(address, dict(self.task.event(name).features()), "void", name)
            for name, address in native.events.items()
        }
        return made


@dataclass(frozen=True)
class WatchedFunction(PolicyFunction):
    """A single function of a watched policy."""

    of: WatchedPolicy

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        return self.of._watch_native(super().native(layout, hurried), layout)

    def reference(self, seed: int = 0) -> Reference:
        return WatchedReference(self.program, self.plan, self.task, self.of.seen, seed)


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
        for name, feature in declared.items():
            self._seen.check(name, feature, features[name])


class WatchedMachineCode:
    """A machine-code stub that checks features in memory, then calls its target."""

    def __init__(
        self, address: int, features: Mapping[str, Feature], layout: Layout, gives: str, occasion: str | None
    ) -> None:
        from vulcan.anvil.native import jit

        self.occasion = occasion
        placed = {name: feature for name, feature in features.items() if name in layout.features}
        self.names = list(placed)
        self.counts = np.zeros(len(placed) + 1, np.int64)  # the last counts calls
        self.values = np.zeros(len(placed) + 1)
        self._taken = 0
        name = f"watch{next(_serial)}"  # the linker needs unique names
        self._library = jit.link(self._text(name, address, placed, layout, gives), (name,))
        self.address: int = self._library[name]

    def take_calls(self) -> int:
        """Return the number of calls since the last time."""
        fresh, self._taken = int(self.counts[-1]) - self._taken, int(self.counts[-1])
        return fresh

    def _text(self, name: str, address: int, placed: Mapping[str, Feature], layout: Layout, gives: str) -> str:
        lines = ["declare double @llvm.floor.f64(double)"]
        lines.append(f"define {gives} @{name}(ptr %globals, ptr %entity, ptr %statistics, double %key) {{")
        calls = _at(self.counts, len(placed))
        lines += [f"%n = load i64, ptr {calls}", "%m = add i64 %n, 1", f"store i64 %m, ptr {calls}"]
        for i, (reads, feature) in enumerate(placed.items()):
            slot = layout.features[reads]
            if slot.base == "key":
                lines.append(f"%v{i} = fadd double %key, {_double(0.0)}")
            else:
                lines.append(f"%p{i} = getelementptr double, ptr %{slot.base}, i64 {slot.index}")
                lines.append(f"%v{i} = load double, ptr %p{i}")
            lines += _fits(i, feature)
            lines += [
                f"br i1 %ok{i}, label %good{i}, label %bad{i}",
                f"bad{i}:",
                f"store double %v{i}, ptr {_at(self.values, i)}",
                f"%c{i} = load i64, ptr {_at(self.counts, i)}",
                f"%d{i} = add i64 %c{i}, 1",
                f"store i64 %d{i}, ptr {_at(self.counts, i)}",
                f"br label %good{i}",
                f"good{i}:",
            ]
        target = f"inttoptr (i64 {address} to ptr)"
        call = f"call {gives} {target}(ptr %globals, ptr %entity, ptr %statistics, double %key)"
        lines += [call, "ret void"] if gives == "void" else [f"%result = {call}", "ret double %result"]
        return "\n".join([*lines, "}"]) + "\n"


def _fits(i: int, feature: Feature) -> Iterable[str]:
    """Yield the LLVM IR of `fits` for the value %v."""
    low, high = _range(feature)
    yield f"%low{i} = fcmp oge double %v{i}, {_double(low)}"
    yield f"%high{i} = fcmp ole double %v{i}, {_double(high)}"
    yield f"%in{i} = and i1 %low{i}, %high{i}"
    whole = f"%v{i}"
    if feature.type != "float":
        whole = f"%floor{i}"
        yield f"{whole} = call double @llvm.floor.f64(double %v{i})"
    yield f"%whole{i} = fcmp oeq double %v{i}, {whole}"
    yield f"%ok{i} = and i1 %in{i}, %whole{i}"


def _double(value: float) -> str:
    """Format a double constant by its bits."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _at(array: np.ndarray[Any, Any], index: int) -> str:
    """Return the address of an element, as a constant pointer."""
    address = ctypes.c_void_p(array.ctypes.data).value
    assert address is not None
    return f"inttoptr (i64 {address + 8 * index} to ptr)"


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
