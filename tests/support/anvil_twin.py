"""One policy run twice side by side: by the reference, and as machine code on real memory with guard words."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterable, Mapping

import numpy as np

from vulcan.anvil import Layout, Policy, Slot
from vulcan.anvil.interpreter import Reference

SEED = 2**63 + 12345
_GUARD = 8
_UNTOUCHED = -1234.5678
_POINTER = ctypes.c_void_p
_OBSERVE = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, ctypes.c_double)

Values = Mapping[str, float]
"""A value for each plain feature, and for `HISTORY.contains`, `.count` and `.age`."""


def bits(value: float) -> str:
    return struct.pack(">d", value).hex()


def _guarded(size: int) -> np.ndarray:
    block = np.full(size + 2 * _GUARD, _UNTOUCHED)
    block[_GUARD : _GUARD + size] = 0.0
    return block


class Twin:
    """Asserts at every score that both give the same bits and a finite number; `check_memory` that no more was written
    than the layout and the plan allow."""

    def __init__(self, policy: Policy, layout: Layout, hurried: bool = False) -> None:
        self.policy = policy
        self.layout = layout
        self.native = policy.native(layout, hurried)
        self.reference: Reference = policy.reference(SEED)
        fresh = self.native.new_globals(SEED)
        self.globals = _guarded(len(fresh))
        self.globals.view(np.int64)[_GUARD:-_GUARD] = fresh.view(np.int64)
        slots: list[Slot] = [*layout.features.values()]
        for history in layout.histories.values():
            slots += [history.left, history.count, history.left_at]
        self.record_size = 1 + max((slot.index for slot in slots if slot.base == "entity"), default=0)
        declared = dict(policy.task.interface.features())
        self.shared = {slot: (name, declared[name].high) for name, slot in layout.features.items() if name in declared}
        self.entities: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self.live: set[float] = set()

    def memory(self, key: float) -> tuple[np.ndarray, np.ndarray]:
        if key not in self.entities:
            statistics = _guarded(self.native.entity_slots)
            statistics[_GUARD:-_GUARD] = self.native.new_statistics(1)
            self.entities[key] = _guarded(self.record_size), statistics
        return self.entities[key]

    def statistics(self, key: float) -> np.ndarray:
        """Return the native statistics of an entity."""
        return self.memory(key)[1][_GUARD:-_GUARD]

    def show(self, key: float | None, values: Values) -> tuple[int, int, int, float]:
        """Write the values where the layout wants them, and give the arguments of a native call."""
        record, statistics = self.memory(key or 0.0)
        bases = {"globals": self.globals, "entity": record}

        def put(slot: Slot, value: float) -> None:
            bases[slot.base][_GUARD + slot.index] = value

        for name, slot in self.layout.features.items():
            if slot.base != "key" and name in values:  # a layout may serve other tasks too
                put(slot, values[name])
        for name, slots in self.layout.histories.items():
            remembered = values[f"{name}.contains"] != 0.0
            if slots.left in self.shared:  # that feature tells whether the history has the entity
                feature, highest = self.shared[slots.left]
                if (values[feature] >= highest) != remembered:
                    raise ValueError(f"{feature} = {values[feature]} and {name}.contains = {remembered}: one slot")
                put(slots.oldest, highest)
            else:
                put(slots.oldest, 7.0)
                put(slots.left, 7.0 if remembered else 6.0)
            put(slots.count, values[f"{name}.count"] if remembered else 99.0)
            put(slots.left_at, values["now"] - values[f"{name}.age"] if remembered else 0.0)
        blocks = (self.globals, record, statistics)
        return (*(block.ctypes.data + 8 * _GUARD for block in blocks), key or 0.0)  # type: ignore[return-value]

    def consistent(self, values: Values) -> dict[str, float]:
        """The values, in which a history says what the feature says that has the same slot (`queue_layout`)."""
        made = dict(values)
        for name, slots in self.layout.histories.items():
            if slots.left in self.shared:
                feature, highest = self.shared[slots.left]
                made[f"{name}.contains"] = float(made[feature] >= highest)
                if not made[f"{name}.contains"]:
                    made[f"{name}.count"] = made[f"{name}.age"] = 0.0
        return made

    def observe(self, key: float | None, values: Values) -> None:
        """The entity enters, or is touched; without a key, an event of a task that has no entities."""
        arguments = self.show(key, values)
        address = self.native.update if key is None or key in self.live else self.native.enter
        if address:
            _OBSERVE(address)(*arguments)
        self.reference.observe(key, values)
        if key is not None:
            self.live.add(key)

    def occur(self, occasion: str, values: Values) -> None:
        """The occasion has come."""
        arguments = self.show(None, values)
        if address := self.native.occasions[occasion]:
            _OBSERVE(address)(*arguments)
        self.reference.observe_occasion(occasion, values)

    def leave(self, key: float) -> None:
        record, statistics = self.memory(key)
        if self.native.leave:
            blocks = (self.globals, record, statistics)
            _OBSERVE(self.native.leave)(*(block.ctypes.data + 8 * _GUARD for block in blocks), key)
        self.reference.forget(key)
        self.live.remove(key)

    def handle(self, event: str, key: float | None, values: Values) -> None:
        """The event has happened; what the handler wrote is compared."""
        arguments = self.show(key, values)
        if address := self.native.events.get(event, 0):
            _OBSERVE(address)(*arguments)
        self.reference.handle(event, values, key)
        self.check_state(key)

    def release(self, key: float) -> None:
        """Nothing is remembered of the entity any more."""
        record, statistics = self.memory(key)
        if self.native.release:
            blocks = (self.globals, record, statistics)
            _OBSERVE(self.native.release)(*(block.ctypes.data + 8 * _GUARD for block in blocks), key)
        self.reference.release(key)
        self.check_state(key)

    def check_state(self, key: float | None) -> None:
        """Registers, arrays and the fields of the entity, if there is one, are the same in both."""
        slots, plan = self.policy.plan.state, self.policy.plan
        state = self.globals[_GUARD:-_GUARD][len(self.globals) - 2 * _GUARD - slots.slots :]
        own = self.statistics(key or 0.0)[plan.entity_block.slots :]
        for variable in plan.variables:
            if variable.is_field and key is None:
                continue
            if variable.is_field:
                natively = [own[slots.fields[variable.name]]]
            else:
                start = slots.starts[variable.name]
                natively = list(state[start : start + (variable.length or 1)])
            reference = (
                self.reference._cell(variable.name, key)
                if variable.length is None
                else [self.reference._element(variable.name, i) for i in range(variable.length)]
            )
            expected = reference if isinstance(reference, list) else [reference]
            assert [*map(bits, natively)] == [*map(bits, expected)], (
                f"{variable.name}: native {natively}, reference {expected} by\n{self.policy.source}"
            )

    def score(self, key: float | None, values: Values) -> float:
        """Return the number of the main function; what the others give is compared, too."""
        arguments = self.show(key, values)
        numbers = {}
        for name in self.native.scores:
            native = self.native.named(name)(*arguments)
            reference = self.reference.ask(name, values, key)
            assert math.isfinite(reference), f"{name}: {reference} of {values} by\n{self.policy.source}"
            assert bits(native) == bits(reference), (
                f"{name}: native {native!r}, reference {reference!r} of {values} by\n{self.policy.source}"
            )
            numbers[name] = native
        main = numbers[self.policy.task.signature.function]
        assert bits(main) == bits(self.native.function(*arguments)) == bits(self.reference(values, key))
        return main

    def check_memory(self) -> None:
        blocks: Iterable[np.ndarray] = [self.globals, *(b for pair in self.entities.values() for b in pair)]
        for block in blocks:
            assert (block[:_GUARD] == _UNTOUCHED).all()
            assert (block[-_GUARD:] == _UNTOUCHED).all()
