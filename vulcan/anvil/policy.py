"""Checked policies, with their native code, reference interpreter and warnings."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from vulcan.anvil import ir
from vulcan.anvil.check import check_tree, task_of
from vulcan.anvil.feature_layout import Layout
from vulcan.anvil.interpreter import Reference
from vulcan.anvil.lint import LintResult, lint
from vulcan.anvil.parse import parse
from vulcan.anvil.plan import Plan, make_plan
from vulcan.anvil.rewrite.traversal import from_below, program_size, with_inside
from vulcan.documents.policy import Remark
from vulcan.task import MECHANISM, Json, Signature, Task

if TYPE_CHECKING:
    from vulcan.anvil.native.compile import Native


def interface_of(task: Task, program: ir.Module) -> Signature:
    """Return everything that a program may read: without handlers, nothing that only events show."""
    return task.whole_interface if program.handlers else task.interface


_COMPILING = threading.RLock()
"""Held while machine code is looked up or made: of two threads that made the same, one would run freed code."""

os.register_at_fork(before=_COMPILING.acquire, after_in_parent=_COMPILING.release, after_in_child=_COMPILING.release)


EVENT = 20.0
"""Operations that take about as long as what a simulator does itself at an event."""


def effort(operations: int, own: Task) -> float:
    """Return about how long a policy of its `own` task takes an event, in operations; the same on every machine."""
    return EVENT + operations * max((mechanism.calls for mechanism in own.signature.mechanisms), default=1.0)


def check(source: str, task: Task) -> Policy:
    """Check the source against the task, and return its policy. Raises Rejected with locations and reasons.

    The policy's task is that of its mechanism and of the optional functions that it defines (`Task.of_policy`).
    """
    tree = parse(source)
    task = task_of(tree, task)
    declared = (task.signature, task.others, task.events, task.state_limits, task.policy_choices)
    program = check_tree(tree, *declared)
    if MECHANISM in task.policy_choices:
        named = {MECHANISM: task.mechanism, **dict(program.chosen)}
        program = replace(program, chosen=tuple(sorted(named.items())))
    return Policy(source, task, program, make_plan(program, task.operations))


@dataclass(frozen=True)
class Policy:
    """A checked policy: `program` is the whole module, `plan` the combined plan of all of its functions.

    If the task declares several functions, they share one state: `native()` and `reference()` take each event once, and
    store what any of the functions needs.
    """

    source: str
    task: Task
    program: ir.Module
    plan: Plan

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        """Return machine code that reads its features at the layout's slots.

        For a short run, `hurried` halves the compile time; the code is up to a third slower, its results are identical.
        """
        from vulcan.anvil.native.compile import compile_native  # loads numba, which checking a policy does not need

        with _COMPILING:
            key = (id(layout), hurried and (id(layout), False) not in self._made)  # reuse unhurried code if available
            if key not in self._made:
                made = compile_native(self.program, self.plan, interface_of(self.task, self.program), layout, hurried)
                self._made[key] = (layout, made)
            return self._made[key][1]

    @cached_property
    def _made(self) -> dict[tuple[int, bool], tuple[Layout, Native]]:
        """Machine code by the identity of the layout, which is stored to keep that identity unique, and `hurried`."""
        return {}

    def reference(self, seed: int = 0) -> Reference:
        """Return a fresh reference run under CPython: a callable with the statistics that the program needs.

        `seed` starts the random numbers that it draws.
        """
        return Reference(self.program, self.plan, interface_of(self.task, self.program), seed)

    def plan_of(self, function: str | None = None) -> Plan:
        """Return the plan of one function alone, by default the main one. Raises KeyError for one that is not there."""
        if not self.task.others:
            return self.plan
        return make_plan(self.program.of(self.task.function(function).function), self.task.operations)

    @property
    def parameters(self) -> dict[str, float]:
        """The numeric constants at the top of the source, which a tuner may change."""
        return dict(self.program.parameters)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that uses it; empty where its task names none."""
        return self.task.mechanism

    def settings(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Return these settings of the task with what the policy chooses for itself."""
        return {**given, **{name.lower(): choice for name, choice in self.program.chosen}}

    @property
    def operations(self) -> int:
        """Maximum number of operations of one call."""
        return self.plan.operations

    @property
    def size(self) -> int:
        """Nodes of the program (`vulcan.anvil.rewrite.traversal.program_size`)."""
        return program_size(self.program)

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """Lint warnings: constant conditions and results, reads without influence."""
        return self._doubts.warnings

    @property
    def constant(self) -> str | None:
        """The reason why the result is the same for every input; None if it may differ.

        Such a policy decides nothing, and need not be scored. The reason says whether other parameters could help.
        If there are several functions, all of them must be constant.
        """
        return self._doubts.constant

    @cached_property
    def _doubts(self) -> LintResult:
        return lint(self.source, self.program, interface_of(self.task, self.program))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the program apart from comments, layout and the names of locals, parameters and helpers."""
        canonical = _Canonical(self.program)
        default = (MECHANISM, (self.task.whole or self.task).mechanism)  # which a policy has without saying so
        held: list[object] = [*(one for one in self.program.chosen if one != default), *canonical.functions()]
        return hashlib.sha256(
            repr(held + canonical.variables() if self.program.variables else held).encode()
        ).hexdigest()

    @cached_property
    def state_fingerprint(self) -> str | None:
        """A hash of the state and the handlers alone, as 16 hex digits; None for a policy without handlers."""
        if not self.program.handlers:
            return None
        canonical, program = _Canonical(self.program), self.program
        needed = [*program.handlers, *program.reached(*program.handlers)]
        pairs = zip(program.functions, canonical.functions(), strict=True)
        held = [function for written, function in pairs if written in needed]
        return hashlib.sha256(repr([*held, *canonical.variables()]).encode()).hexdigest()[:16]


class _Canonical:
    """A program's functions with names in order of appearance and parameters replaced by their values."""

    def __init__(self, program: ir.Module) -> None:
        self.program = program
        self.parameters = dict(program.parameters)
        self.helpers = {f.name: f"f{i}" for i, f in enumerate(program.functions)}
        self.helpers |= {handler.name: handler.name for handler in program.handlers}
        self.state = {
            v.name: f"{v.name.partition('.')[0] if v.is_field else ir.STATE}.s{i}"
            for i, v in enumerate(program.variables)
        }
        self.names: dict[str, str] = {}

    def functions(self) -> list[ir.Function]:
        made = []
        for function in self.program.functions:
            self.names = {}
            is_named = function in (*self.program.entries, *self.program.handlers)
            arguments = () if is_named else tuple(self.name(a) for a in function.arguments)
            made.append(ir.Function(self.helpers[function.name], arguments, self.block(function.body)))
        return made

    def variables(self) -> list[ir.Variable]:
        return [
            ir.Variable(self.state[v.name], ir.Number(v.value(self.parameters)), v.length)
            for v in self.program.variables
        ]

    def name(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}")

    def block(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        return tuple(self.statement(s) for s in body)

    def statement(self, statement: ir.Statement) -> ir.Statement:
        if isinstance(statement, ir.Loop):
            self.name(statement.name)  # which its body may read
        expressions, blocks = ir.inside(statement)
        made = with_inside(statement, tuple(map(self.expression, expressions)), tuple(map(self.block, blocks)))
        match made:
            case ir.Assign(name) | ir.Loop(name):
                return replace(made, name=self.name(name), at=(0, 0))
            case ir.Write(name):
                return replace(made, name=self.state.get(name, name), at=(0, 0))
            case ir.If() | ir.Return():
                return replace(made, at=(0, 0))
            case _:
                return made

    def expression(self, e: ir.Expression) -> ir.Expression:
        return from_below(e, self.part)

    def part(self, e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Parameter(name):
                return ir.Number(self.parameters[name])
            case ir.Local(name):
                return ir.Local(self.name(name))
            case ir.Number() | ir.Query():
                return e
            case ir.Occurrences(statistic):
                return replace(e, statistic=replace(statistic, at=(0, 0)), at=(0, 0))
            case ir.Cell(name) | ir.Element(name):
                return replace(e, name=self.state[name], at=(0, 0))
            case ir.Call(function):
                return replace(e, function=self.helpers[function], at=(0, 0))
            case _:
                return replace(e, at=(0, 0))
