"""Writes well-typed programs of the policy language, from a source of choices: `below(n)` gives one of 0..n-1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from vulcan.anvil.grammar import grammar
from vulcan.task import Event, History, Signature

T = TypeVar("T")
Below = Callable[[int], int]

LITERALS = (
    "0", "1", "2", "3", "7", "-1", "0.5", "0.1", "1e-3", "100", "1_000", "0x10", "True", "False", "-0.0", "1e16",
    "9007199254740993", "1e300", "1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "1e-320", "709.8",
    "-745.2", "1.5", "2.5", "-2.5", "1e-20", "0.3333333333333333", "4503599627370497.5", "1e154",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "//", "%", "**")
ARGUMENTS = {
    "alpha": ("0.001", "0.3", "0.5", "0.999", "0.97"),
    "p": ("0", "0.1", "0.5", "0.9", "1", "0.07", "0.333", "0.99"),
    "n": ("1", "2", "3", "4", "5.0", "64"),
    "k": ("1", "2", "3", "4", "5.0", "64"),
}
"""Values written for the arguments of statistics, by name; the last one also 4096 where allowed."""


@dataclass
class _Scope:
    arguments: tuple[str, ...]
    assigned: set[str] = field(default_factory=set)
    loops: int = 0
    entry: bool = False
    handler: bool = False


class Writer:
    """`others` are the functions it defines besides the main one; with `events` it declares and handles state."""

    def __init__(
        self,
        signature: Signature,
        below: Below,
        others: Sequence[Signature] = (),
        events: Sequence[Event] = (),
    ) -> None:
        self.signature = signature
        self.events = events
        self.registers: list[str] = []
        self.arrays: list[str] = []
        self.fields: list[str] = []
        self.others = others
        self.below = below
        self.budget = 60
        self.parameters: list[str] = []
        self.helpers: list[tuple[str, int]] = []
        self.reads = [name for name, _ in signature.features()]

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1

    # The module

    def module(self) -> str:
        lines: list[str] = ["import math"]
        for i in range(self.below(3)):
            annotation = ": float" if self.chance(4) else ""
            self.parameters.append(f"P{i}")
            lines.append(f"P{i}{annotation} = {self.pick(LITERALS)}")
        if self.events:
            lines += self.state()
        for i in range(self.below(4)):
            arity = self.below(4)
            arguments = tuple(f"a{k}" for k in range(arity))
            lines.append(f"def f{i}({', '.join(arguments)}):")
            lines += self.function(_Scope(arguments), statements=self.below(3))
            self.helpers.append((f"f{i}", arity))
        decisions = (self.signature, *self.others)
        for event in self.events:
            if self.chance(2) or event is self.events[0]:
                self.signature = event
                self.reads = [name for name, _ in event.features()]
                self.budget = max(self.budget, 30)
                lines.append(f"def {event.function}({', '.join(a.name for a in event.arguments)}):")
                lines += self.block(_Scope((), entry=True, handler=True), 1 + self.below(4), 1)[0]
        for signature in decisions:
            self.signature = signature
            self.reads = [name for name, _ in signature.features()]
            self.budget = max(self.budget, 40)
            lines.append(f"def {signature.function}({', '.join(a.name for a in signature.arguments)}):")
            lines += self.function(_Scope((), entry=True), statements=1 + self.below(5))
        return "\n".join(lines) + "\n"

    def state(self) -> list[str]:
        """Declarations of registers, arrays and fields."""
        initial = lambda: self.pick((*self.parameters, *LITERALS))  # noqa: E731
        self.registers = [f"policy.r{i}" for i in range(1 + self.below(3))]
        self.arrays = [f"policy.a{i}" for i in range(self.below(3))]
        lines = ["class policy:"]
        lines += [f"    r{i} = {initial()}" for i in range(len(self.registers))]
        lines += [f"    a{i} = [{initial()}] * {self.pick((1, 2, 3, 8, 1000))}" for i in range(len(self.arrays))]
        shown = (self.signature, *self.others, *self.events)
        entity = next((s.entity for s in shown if s.entity is not None), None)
        if entity is not None and self.chance(2):
            self.fields = [f"{entity.name}.t{i}" for i in range(1 + self.below(2))]
            lines.append(f"class {entity.name}:")
            lines += [f"    t{i} = {initial()}" for i in range(len(self.fields))]
        return lines

    def store(self, scope: _Scope) -> str:
        controls = getattr(self.signature, "controls", ())
        written = [f"{control.name}.{feature.name}" for control in controls for feature in control.features]
        target = self.pick((*self.cells(scope), *(f"{a}[{self.expression(scope, 2)}]" for a in self.arrays), *written))
        if target in written:
            return f"{target} = {self.expression(scope, 3)}"
        sign = self.pick(("=", "=", *(f"{operator}=" for operator in BINARY)))
        return f"{target} {sign} {'random()' if self.chance(5) else self.expression(scope, 3)}"

    def cells(self, scope: _Scope) -> list[str]:
        """Registers, and fields where the function is shown the entity."""
        entity = self.signature.entity
        shown = scope.entry and entity is not None
        return [*self.registers, *(self.fields if shown else ())]

    def function(self, scope: _Scope, statements: int) -> list[str]:
        lines, ends = self.block(scope, statements, 1)
        return lines if ends else [*lines, f"    return {self.expression(scope, 4)}"]

    # Statements

    def block(self, scope: _Scope, count: int, depth: int) -> tuple[list[str], bool]:
        lines: list[str] = []
        ends = False
        for _ in range(count):
            more, ends = self.statement(scope, depth)
            lines += more
            if ends:
                break
        return lines or ["    " * depth + "pass"], ends

    def statement(self, scope: _Scope, depth: int) -> tuple[list[str], bool]:
        indent = "    " * depth
        kind = self.below(12)
        if self.budget <= 0 or depth > 5:
            kind = min(kind, 6)
        if scope.handler and self.chance(2):
            return [indent + self.store(scope)], False
        if kind <= 3 or (kind <= 5 and not scope.assigned):
            name = f"x{self.below(4)}"
            annotation = self.pick(("", "", "", ": float", ": int"))
            line = f"{indent}{name}{annotation} = {self.expression(scope, 4)}"
            scope.assigned.add(name)
            return [line], False
        if kind <= 5:
            name = self.pick(sorted(scope.assigned))
            return [f"{indent}{name} {self.pick(BINARY)}= {self.expression(scope, 3)}"], False
        if kind == 6:
            return [indent + self.pick(("pass", '"a remark"'))], False
        if kind <= 9:
            return self.branch(scope, depth)
        if scope.loops < (2 if scope.entry else 1):
            return self.loop(scope, depth), False
        return [f"{indent}pass"], False

    def branch(self, scope: _Scope, depth: int) -> tuple[list[str], bool]:
        indent = "    " * depth
        before = set(scope.assigned)
        lines, left, all_end = [], [], True
        for keyword in ("if", *["elif"] * self.below(3)):
            scope.assigned = set(before)
            lines.append(f"{indent}{keyword} {self.expression(scope, 3)}:")
            ended = self.arm(scope, depth + 1, lines)
            all_end = all_end and ended
            if not ended:
                left.append(scope.assigned)
        scope.assigned = set(before)
        if self.chance(2):
            lines.append(f"{indent}else:")
            ended = self.arm(scope, depth + 1, lines)
        else:
            ended = False
        if not ended:
            left.append(scope.assigned)
        scope.assigned = set.intersection(*left) if left else before
        return lines, all_end and ended

    def arm(self, scope: _Scope, depth: int, lines: list[str]) -> bool:
        inner, ends = self.block(scope, 1 + self.below(2), depth)
        lines += inner
        if ends or not self.chance(4):
            return ends
        leave = ["return"] if not scope.loops else ["return", "break", "continue"]
        word = self.pick(leave)
        result = "" if scope.handler else f" {self.expression(scope, 3)}"
        lines.append("    " * depth + word + (result if word == "return" else ""))
        return True

    def loop(self, scope: _Scope, depth: int) -> list[str]:
        name = self.pick(("i", "j", "x0"))
        bounds = self.pick(("3", "2", "0", "1, 4", "5, 0, -2", "-3, 3, 2", "2, 2", "0, -2, -1"))
        before = set(scope.assigned)
        scope.assigned.add(name)
        scope.loops += 1
        inner, _ = self.block(scope, 1 + self.below(3), depth + 1)
        scope.loops -= 1
        runs = bounds not in ("0", "2, 2")
        scope.assigned = before | {name} if runs else before
        return [f"{'    ' * depth}for {name} in range({bounds}):", *inner]

    # Expressions

    def expression(self, scope: _Scope, depth: int) -> str:
        self.budget -= 1
        if depth == 0 or self.budget <= 0:
            return self.leaf(scope)
        part = lambda: self.expression(scope, depth - 1)  # noqa: E731
        match self.below(10):
            case 0 | 1:
                return self.leaf(scope)
            case 2 | 3 | 4:
                return f"({part()} {self.pick(BINARY)} {part()})"
            case 5:
                return f"({self.pick(('-', '+', 'not '))}{part()})"
            case 6:
                word = self.pick((" and ", " or "))
                return f"({word.join(part() for _ in range(2 + self.below(2)))})"
            case 7:
                text = part()
                for _ in range(1 + self.below(2)):
                    text += f" {self.pick(tuple(grammar.COMPARISONS.values()))} {part()}"
                return f"({text})"
            case 8:
                return f"({part()} if {part()} else {part()})"
            case _:
                return self.call(scope, depth)

    def call(self, scope: _Scope, depth: int) -> str:
        if self.helpers and self.chance(3):
            name, arity = self.pick(self.helpers)
        else:
            functions = {**grammar.FUNCTIONS, **(grammar.STATE_FUNCTIONS if self.events else {})}
            name = self.pick(tuple(functions))
            least, most = functions[name].arguments
            arity = least if most is not None else least + self.below(3)
        return f"{name}({', '.join(self.expression(scope, depth - 1) for _ in range(arity))})"

    def leaf(self, scope: _Scope) -> str:
        local = [*scope.arguments, *sorted(scope.assigned)]
        if self.registers and self.chance(3):
            array = self.chance(2) and self.arrays and self.budget > 0
            return f"{self.pick(self.arrays)}[{self.expression(scope, 1)}]" if array else self.pick(self.cells(scope))
        if scope.handler and self.chance(12):
            return "random()"
        kind = self.below(10)
        if kind <= 2 and local:
            return self.pick(local)
        if kind == 3 and self.parameters:
            return self.pick(self.parameters)
        if kind == 4:
            return self.pick((*LITERALS, *grammar.CONSTANTS))
        if scope.entry and kind >= 8:
            return self.derived(scope)
        if scope.entry and kind >= 5:
            return self.pick(self.reads)
        return self.pick(LITERALS) if not local or self.chance(3) else self.pick(local)

    def derived(self, scope: _Scope) -> str:
        """Return a statistic of any kind at any scope, or a query."""
        kinds = [k for k in grammar.STATISTICS.values() if self.scopes_of(k)]
        kind = self.pick((*kinds, None))
        if kind is None:
            return self.query()
        where = self.pick(self.scopes_of(kind))
        arguments = [self.pick(self.spellings(argument, where)) for argument in kind.arguments]
        if kind.looks_for:
            arguments.insert(0, self.expression(scope, 1) if self.chance(2) else self.pick(self.reads))
        return f"{self.observed(where, kind.looks_for)}.{kind.name}({', '.join(arguments)})"

    def scopes_of(self, kind: grammar.StatisticKind) -> tuple[grammar.Scope, ...]:
        """Return the scopes available to this function: not every function has an entity, or its population."""
        entity = self.signature.entity
        if entity is None:
            return tuple(scope for scope in kind.scopes if scope == "system")
        return kind.scopes if self.sees_population() else tuple(s for s in kind.scopes if s != "population")

    def sees_population(self) -> bool:
        entity = self.signature.entity
        return entity is not None and entity.population in [a.name for a in self.signature.arguments]

    def spellings(self, argument: grammar.StatisticArgument, where: grammar.Scope) -> tuple[str, ...]:
        most = (f"{argument.most(where):g}",) if argument.whole else ()
        return (*ARGUMENTS[argument.name], *most)

    def observed(self, where: grammar.Scope, looked_for: bool) -> str:
        """Return a feature as the statistics of that scope name it. Only what is looked for may be an entity's key."""
        entity = self.signature.entity
        of_system = [name for name in self.reads if entity is None or not name.startswith(f"{entity.name}.")]
        if entity is None or (where != "entity" and not self.sees_population()):
            return self.pick(of_system)
        own = [f.name for f in entity.features if f.name != entity.key]
        if where == "system":
            keys = [entity.key] if looked_for else []
            return self.pick([*of_system, *(f"{entity.population}.{name}" for name in own + keys)])
        return f"{entity.name if where == 'entity' else entity.population}.{self.pick(own)}"

    def query(self) -> str:
        entity = self.signature.entity
        histories = [a.name for a in self.signature.arguments if isinstance(a, History)]
        if entity is None or not histories:
            return self.pick(self.reads)
        return f"{self.pick(histories)}.{self.pick(tuple(grammar.HISTORY_QUERIES))}({entity.name}.{entity.key})"


def programs(
    signature: Signature,
    others: Sequence[Signature] = (),
    events: Sequence[Event] = (),
) -> st.SearchStrategy[str]:
    @st.composite
    def program(draw: st.DrawFn) -> str:
        return Writer(signature, lambda n: draw(st.integers(0, n - 1)), others, events).module()

    return program()


def random_program(
    signature: Signature,
    random: Random,
    others: Sequence[Signature] = (),
    events: Sequence[Event] = (),
) -> str:
    return Writer(signature, random.randrange, others, events).module()
