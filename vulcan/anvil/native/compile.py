"""Compilation of whole policies to LLVM IR and then machine code, in milliseconds and without a C compiler.

The IR has the policy's helpers, its functions, and the updates of exactly the statistics that it uses.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from vulcan.anvil import ir
from vulcan.anvil.feature_layout import Layout
from vulcan.anvil.native import jit
from vulcan.anvil.native.codegen import Writer
from vulcan.anvil.native.codegen_statistics import events
from vulcan.anvil.native.jit import LIBRARY
from vulcan.anvil.native.llvm_builder import Context, role_at, role_of, role_of_event
from vulcan.anvil.native.runtime import runtime_declarations
from vulcan.anvil.plan import Plan
from vulcan.task import Signature


def _declarations() -> dict[str, str]:
    lines = runtime_declarations()
    for name, count in LIBRARY.items():
        doubles = ", ".join(["double"] * count)
        lines[f"anvil_{name}"] = f"declare double @anvil_{name}({doubles}) nounwind willreturn memory(none)"
    for name in ("floor", "ceil", "trunc", "roundeven", "fabs", "sqrt"):
        lines[f"llvm.{name}.f64"] = f"declare double @llvm.{name}.f64(double)"
    lines["llvm.copysign.f64"] = "declare double @llvm.copysign.f64(double, double)"
    lines["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)"
    return lines


_DECLARATIONS = _declarations()


def module_text(context: Context) -> str:
    """Return the IR of a policy's helpers, the functions that the task names, and the updates of its statistics."""
    parts = [Writer(context, function).function() for function in context.program.functions] + events(context)
    body = "\n".join(parts)
    used = [line for name, line in _DECLARATIONS.items() if f"@{name}(" in body]
    return "\n".join((body, *used)) + "\n"


LINE = 8
"""Float64 slots per cache line of 64 bytes."""


Numbers = np.ndarray[Any, np.dtype[np.float64]]


def aligned(slots: int) -> Numbers:
    """Return zeros of shape (slots,), the first at the beginning of a cache line."""
    block = np.zeros(slots + LINE)
    offset = -(block.ctypes.data // 8) % LINE
    return block[offset : offset + slots]


class Native:
    """Machine code of one policy. The addresses are valid while this object lives; an unneeded function's is 0.

    `score` is the main function; `scores` has each one that the task names, by name. `occasions` has the function to
    call at each occasion, by name, with the same arguments. `events` has the handler of each event of the task that the
    policy handles, by name, with the same arguments. `release` drops the fields of
    an entity of which nothing is remembered any more.
    """

    def __init__(self, text: str, context: Context, hurried: bool = False) -> None:
        names = context.symbols
        self._library = jit.link(text, tuple(names.values()), hurried)
        address = {role: self._library[name] for role, name in names.items()}
        self.score: int = address["score"]
        self.scores: dict[str, int] = {
            f.name: address[role_of(context.program, f.name)] for f in context.program.entries
        }
        self.enter: int = address.get("enter", 0)
        self.update: int = address.get("update", 0)
        self.leave: int = address.get("leave", 0)
        self.release: int = address.get("release", 0)
        self.events: dict[str, int] = {f.name: address[role_of_event(f.name)] for f in context.program.handlers}
        declared = dict(context.signature.features())
        occasions = dict.fromkeys(context.signature.occasions.values())
        self.occasions: dict[str, int] = {name: address.get(role_at(name), 0) for name in occasions}
        entity = context.blocks["entity"].initial(declared, context.shapes)
        system = [context.blocks[base].initial(declared, context.shapes) for base in context.starts]
        parameters = dict(context.program.parameters)
        state = context.state.initial(parameters)
        self._entity = np.concatenate((entity, context.state.initial_fields(parameters)))
        self.entity_slots = len(self._entity)
        self._globals = np.concatenate((np.zeros(context.layout.global_slots), *system, state))
        self._generator = context.state_start if context.state.draws else None

    def addresses(self, *names: str) -> tuple[int, ...]:
        """Return the addresses of functions, handlers, occasions, `enter` and the like; 0 for one that is not there."""
        others = {"enter": self.enter, "update": self.update, "leave": self.leave, "release": self.release}
        found = {**self.scores, **others, **self.occasions, **self.events}
        return tuple(found.get(name, 0) for name in names)

    def new_globals(self, seed: int = 0) -> Numbers:
        """Return a new block for `globals`, shape (slots,), zero except for the plan's state behind the features.

        `seed` starts the random numbers that the policy draws.
        """
        block = self._globals.copy()
        if self._generator is not None:
            block.view(np.uint64)[self._generator] = seed % 2**64
        return block

    def new_statistics(self, entities: int) -> Numbers:
        """Return initial blocks of statistics, shape (entities * entity_slots,).

        The first one is aligned to a cache line.
        """
        block = aligned(entities * self.entity_slots)
        if self._entity.view(np.int64).any():  # otherwise leave the zeroed pages untouched until they are used
            block.reshape(entities, self.entity_slots)[:] = self._entity
        return block

    @property
    def function(self) -> Callable[..., float]:
        """`score` as a ctypes function of three addresses and the key; for tests and slow evaluators."""
        return _callable(self.score)

    def named(self, name: str) -> Callable[..., float]:
        """Return the function that the task calls `name` as a ctypes function. Raises KeyError."""
        return _callable(self.scores[name])


def _callable(address: int) -> Callable[..., float]:
    pointer = ctypes.c_void_p
    return ctypes.CFUNCTYPE(ctypes.c_double, pointer, pointer, pointer, ctypes.c_double)(address)


_serial = itertools.count()


def compile_native(
    program: ir.Module, plan: Plan, signature: Signature, layout: Layout, hurried: bool = False
) -> Native:
    """Compile for the host CPU; `hurried` is as in `jit.link`."""
    context = Context(program, plan, signature, layout, f"policy{next(_serial)}")
    return Native(module_text(context), context, hurried)
