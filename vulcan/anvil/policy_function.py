"""One function of a policy alone, and machine code made of it once for each layout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from vulcan.anvil import program as p
from vulcan.anvil.interpret import Reference
from vulcan.anvil.layout import Layout
from vulcan.anvil.plan import Plan
from vulcan.task import Rank, Signature, Task, Value

if TYPE_CHECKING:
    from vulcan.anvil.native.compile import Native


class Compiled:
    """The machine code of a program, made when it is first asked for with a layout, and kept."""

    def __init__(self, program: p.Program, plan: Plan, signature: Signature) -> None:
        self._program = program
        self._plan = plan
        self._signature = signature
        self._made: dict[tuple[int, bool], tuple[Layout, Native]] = {}
        """By the identity of the layout, which is kept so that its identity stays its own, and by `hurried`."""

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        from vulcan.anvil.native.compile import compile_native  # loads numba, which checking a policy does not need

        key = (id(layout), hurried and (id(layout), False) not in self._made)  # what there is need not be made again
        if key not in self._made:
            made = compile_native(self._program, self._plan, self._signature, layout, hurried)
            self._made[key] = (layout, made)
        return self._made[key][1]


@dataclass(frozen=True)
class PolicyFunction:
    """One of the functions that a task declares, as one policy defines it: with the helpers and the plan that it needs.

    `native()` and `reference()` have a state of their own, with the statistics of this function alone. Whoever uses
    several functions of a policy so tells each of them of every event, each with blocks of its own. The events are
    the same for all: where the task has an entity, an event of it is one for a function that is shown none, too.
    """

    task: Task
    signature: Rank | Value
    program: p.Program
    plan: Plan

    @property
    def name(self) -> str:
        return self.signature.function

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        """Machine code that reads its features where the layout says; `score` is this function.

        For a short run, `hurried` makes it in half the time; it is a few percent slower, and its results are the same.
        """
        return self._compiled.native(layout, hurried)

    @cached_property
    def _compiled(self) -> Compiled:
        return Compiled(self.program, self.plan, self.task.interface)

    def reference(self) -> Reference:
        """A fresh run of this function under CPython: an ordinary callable, with the statistics it needs."""
        return Reference(self.program, self.plan, self.task.interface)
