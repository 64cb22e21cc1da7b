"""The native back end: a program becomes LLVM IR and then machine code, in milliseconds and with no C compiler."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vulcan.anvil import jit
from vulcan.anvil import program as p
from vulcan.anvil.layout import Layout
from vulcan.anvil.llvm_context import Context
from vulcan.anvil.llvm_module import module_text
from vulcan.anvil.plan import Plan
from vulcan.anvil.population import PopulationShape
from vulcan.task import Feature, Signature


class Native:
    """Machine code of one policy. The addresses are valid while this object lives; 0 where there is no function."""

    def __init__(self, text: str, names: Mapping[str, str], plan: Plan, populations: Sequence[PopulationShape],
                 layout: Layout) -> None:  # fmt: skip
        self._library = jit.link(text, tuple(names.values()))
        address = {role: self._library[name] for role, name in names.items()}
        self.score: int = address["score"]
        self.enter: int = address.get("enter", 0)
        self.update: int = address.get("update", 0)
        self.leave: int = address.get("leave", 0)
        self.entity_slots = plan.entity_slots
        self._populations = populations
        self._global_slots = layout.global_slots

    def new_globals(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A fresh block for `globals`, shape (slots,), zero but for the plan's own state behind the features."""
        block = np.zeros(self._global_slots + sum(s.words for s in self._populations))
        start = self._global_slots
        for shape in self._populations:
            shape.write(block.view(np.int64)[start : start + shape.words])
            start += shape.words
        return block

    @property
    def function(self) -> Callable[..., float]:
        """`score` as a ctypes function of three addresses and the key; for tests and slow evaluators."""
        pointer = ctypes.c_void_p
        return ctypes.CFUNCTYPE(ctypes.c_double, pointer, pointer, pointer, ctypes.c_double)(self.score)


_serial = itertools.count()


def compile_native(program: p.Program, plan: Plan, signature: Signature, layout: Layout) -> Native:
    """Compile for the machine this runs on."""
    shapes, places = _populations(plan, dict(signature.features()), layout)
    serial = next(_serial)
    context = Context(program, plan, signature, layout, places, f"policy{serial}")
    return Native(module_text(context), context.symbols, plan, shapes, layout)


def _populations(
    plan: Plan, declared: Mapping[str, Feature], layout: Layout
) -> tuple[list[PopulationShape], dict[str, int]]:
    shapes: list[PopulationShape] = []
    places: dict[str, int] = {}
    start = layout.global_slots
    for name in plan.populations:
        feature = declared[name]
        cursors = sum(s.feature == name for s in plan.percentiles)
        shape = PopulationShape(feature.low, feature.high, feature.resolution, feature.unknown, cursors)
        shapes.append(shape)
        places[name] = start
        start += shape.words
    return shapes, places
