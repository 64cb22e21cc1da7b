"""A checked policy, and what can be made of it.

One function of a policy alone, and machine code made of it once for each layout.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from vulcan.anvil import ir
from vulcan.anvil.check import check_tree
from vulcan.anvil.feature_layout import Layout
from vulcan.anvil.interpreter import Reference
from vulcan.anvil.lint import LintResult, PolicyWarning, lint
from vulcan.anvil.parse import parse
from vulcan.anvil.plan import Plan, joined, make_plan
from vulcan.anvil.rewrite.traversal import program_size
from vulcan.task import Program, Rank, Signature, Task, Value

if TYPE_CHECKING:
    from vulcan.anvil.native.compile import Native


class Compiled:
    """The machine code of a program, made when it is first asked for with a layout, and kept."""

    def __init__(self, program: ir.Module, plan: Plan, signature: Signature) -> None:
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
    program: ir.Module
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


def check(source: str, task: Task) -> Policy:
    """The policy that the source defines for the task. Raises Rejected, saying where and why."""
    program = check_tree(parse(source), task.signature, task.others)
    plans = [make_plan(program.of(declared.function), task.operations) for declared in task.functions]
    return Policy(source, task, program, joined(plans))


@dataclass(frozen=True)
class Policy:
    """A checked policy. `program` is the whole module, `plan` what all of its functions need together.

    Where the task declares several functions, they share one state: `native()` and `reference()` are told of events
    once, and keep what any of the functions asks for. `function(name)` is one of them alone.
    """

    source: str
    task: Task
    program: ir.Module
    plan: Plan

    def function(self, name: str | None = None) -> PolicyFunction:
        """One of the functions alone, the main one where none is named. Raises KeyError for one the task has not."""
        declared = self.task.function(name)
        if declared.function not in self._functions:
            program = self.program.of(declared.function)
            plan = make_plan(program, self.task.operations) if self.task.others else self.plan
            assert not isinstance(declared, Program), "whose policies are no Anvil"
            self._functions[declared.function] = PolicyFunction(self.task, declared, program, plan)
        return self._functions[declared.function]

    @cached_property
    def _functions(self) -> dict[str, PolicyFunction]:
        return {}

    @property
    def parameters(self) -> dict[str, float]:
        """The numeric constants at the top of the source, which a tuner may change."""
        return dict(self.program.parameters)

    def with_parameters(self, values: Mapping[str, float]) -> Policy:
        """The same policy with other parameters.

        Raises KeyError for a name it has not, ValueError for a value that is not a finite number.
        """
        if unknown := values.keys() - self.parameters.keys():
            raise KeyError(", ".join(sorted(unknown)))
        if endless := sorted(name for name, value in values.items() if not math.isfinite(value)):
            raise ValueError(f"parameter {', '.join(endless)}: not a finite number")
        parameters = tuple((name, float(values.get(name, old))) for name, old in self.program.parameters)
        return replace(self, program=replace(self.program, parameters=parameters))

    @property
    def operations(self) -> int:
        """The most operations that one call may take."""
        return self.plan.operations

    @property
    def size(self) -> int:
        """Nodes of the program (`vulcan.anvil.rewrite.traversal.program_size`)."""
        return program_size(self.program)

    def native(self, layout: Layout, hurried: bool = False) -> Native:
        """Machine code that reads its features where the layout says.

        For a short run, `hurried` makes it in half the time; it is a few percent slower, and its results are the same.
        """
        return self._compiled.native(layout, hurried)

    @cached_property
    def _compiled(self) -> Compiled:
        return Compiled(self.program, self.plan, self.task.interface)

    def reference(self) -> Reference:
        """A fresh run of the policy under CPython: an ordinary callable, with the statistics it needs."""
        return Reference(self.program, self.plan, self.task.interface)

    @property
    def warnings(self) -> tuple[PolicyWarning, ...]:
        """What to doubt in the policy: divisors that may be 0, conditions that are constant, what is read in vain."""
        return self._doubts.warnings

    @property
    def constant(self) -> str | None:
        """Why the result is the same for every input; None where it may differ.

        Such a policy decides nothing, and need not be scored. The reason says whether other parameters could help.
        Of several functions every one has to be so.
        """
        return self._doubts.constant

    @cached_property
    def _doubts(self) -> LintResult:
        return lint(self.source, self.program, self.task.interface)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for programs that differ only in comments, layout and the names of locals, parameters and helpers."""
        return hashlib.sha256(repr(_Canonical(self.program).functions()).encode()).hexdigest()


class _Canonical:
    """A program's functions with names in order of appearance and parameters by their values."""

    def __init__(self, program: ir.Module) -> None:
        self.program = program
        self.parameters = dict(program.parameters)
        self.helpers = {f.name: f"f{i}" for i, f in enumerate(program.functions)}
        self.names: dict[str, str] = {}

    def functions(self) -> list[ir.Function]:
        made = []
        for function in self.program.functions:
            self.names = {}
            is_entry = function in self.program.entries
            arguments = () if is_entry else tuple(self.name(a) for a in function.arguments)
            made.append(ir.Function(self.helpers[function.name], arguments, self.block(function.body)))
        return made

    def name(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}")

    def block(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        return tuple(self.statement(s) for s in body)

    def statement(self, statement: ir.Statement) -> ir.Statement:
        match statement:
            case ir.Assign(name, value):
                canonical = self.expression(value)
                return ir.Assign(self.name(name), canonical)
            case ir.If(test, then, otherwise):
                return ir.If(self.expression(test), self.block(then), self.block(otherwise))
            case ir.Loop(name, start, stop, step, body):
                return ir.Loop(self.name(name), start, stop, step, self.block(body))
            case ir.Return(value):
                return ir.Return(self.expression(value))
            case ir.Break() | ir.Continue():
                return statement

    def expression(self, e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Parameter(name):
                return ir.Number(self.parameters[name])
            case ir.Local(name):
                return ir.Local(self.name(name))
            case ir.Read(feature):
                return ir.Read(feature)
            case ir.Statistic(kind, scope, feature, arguments):
                return ir.Statistic(kind, scope, feature, arguments)
            case ir.Occurrences(statistic, value):
                return ir.Occurrences(replace(statistic, at=(0, 0)), self.expression(value))
            case ir.Operate(operation, operands):
                return ir.Operate(operation, tuple(self.expression(o) for o in operands))
            case ir.Compare(operators, operands):
                return ir.Compare(operators, tuple(self.expression(o) for o in operands))
            case ir.Choose(test, then, otherwise):
                return ir.Choose(self.expression(test), self.expression(then), self.expression(otherwise))
            case ir.Call(function, arguments):
                return ir.Call(self.helpers[function], tuple(self.expression(a) for a in arguments))
            case _:
                return e
