"""IR of a checked program: expressions and statements in which every value is a float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vulcan.anvil.grammar.tables import Scope

Position = tuple[int, int]
"""Line (from 1) and column (from 1)."""


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str


@dataclass(frozen=True, slots=True)
class Local:
    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """A declared feature, by the name it is read by (`obj.size`)."""

    feature: str
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Statistic:
    """A derived statistic of a feature (`obj.count`), with its scope (see the grammar table) and literal arguments."""

    kind: str
    scope: Scope
    feature: str
    arguments: tuple[float, ...] = ()
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """A statistic that looks for a value among its observations (`count`, `contains`), with that value."""

    statistic: Statistic
    value: Expression
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """A query of a history (`ghost`, `contains`) about the current entity."""

    history: str
    query: str


@dataclass(frozen=True, slots=True)
class Operate:
    """An operation of the grammar table, by name. `at` is its position in the source."""

    operation: str
    operands: tuple[Expression, ...]
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain of comparisons: operators[i] is between operands[i] and operands[i + 1]."""

    operators: tuple[str, ...]
    operands: tuple[Expression, ...]
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Choose:
    test: Expression
    then: Expression
    otherwise: Expression
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the module's own helpers. `at` is its position in the source."""

    function: str
    arguments: tuple[Expression, ...]
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Cell:
    """A read of a register (`policy.target`) or of a field of the current entity (`obj.tag`)."""

    name: str
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Element:
    """A read of an array's element; the index is rounded down and wrapped to the length."""

    name: str
    index: Expression
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Draw:
    """The next random number of the run, from 0 to below 1. Only ever the whole value of an assignment."""

    at: Position = field(default=(0, 0), compare=False)


Expression = (
    Number
    | Parameter
    | Local
    | Read
    | Statistic
    | Occurrences
    | Query
    | Operate
    | Compare
    | Choose
    | Call
    | Cell
    | Element
    | Draw
)


@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Expression
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class If:
    test: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop `for name in range(start, stop, step)`."""

    name: str
    start: int
    stop: int
    step: int
    body: tuple[Statement, ...]
    at: Position = field(default=(0, 0), compare=False)

    @property
    def trips(self) -> int:
        return len(range(self.start, self.stop, self.step))


@dataclass(frozen=True, slots=True)
class Break:
    pass


@dataclass(frozen=True, slots=True)
class Continue:
    pass


@dataclass(frozen=True, slots=True)
class Return:
    value: Expression
    at: Position = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a register, a field, an array's element (with an index) or a control of the event."""

    name: str
    value: Expression
    index: Expression | None = None
    at: Position = field(default=(0, 0), compare=False)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The index, if any, then the value, which is the order in which they are evaluated."""
        return (self.value,) if self.index is None else (self.index, self.value)


Statement = Assign | If | Loop | Break | Continue | Return | Write


@dataclass(frozen=True, slots=True)
class Function:
    """A helper, whose arguments are numbers; or an entry or event handler, whose arguments are the task's.

    A handler returns 0.
    """

    name: str
    arguments: tuple[str, ...]
    body: tuple[Statement, ...]
    documentation: str = field(default="", compare=False)


STATE = "policy"
"""Name of the class that declares registers and arrays, and of the object that they are read from."""


@dataclass(frozen=True, slots=True)
class Variable:
    """State that outlives a call, by the name it is read by, with its initial value.

    It is a register (`policy.target`), an array (`policy.sketch`, the only kind with a length) or a field of the entity
    (`obj.tag`).
    """

    name: str
    initial: Number | Parameter
    length: int | None = None

    @property
    def is_field(self) -> bool:
        return self.name.partition(".")[0] != STATE

    def value(self, parameters: Mapping[str, float]) -> float:
        """Return the initial value."""
        return self.initial.value if isinstance(self.initial, Number) else parameters[self.initial.name]


@dataclass(frozen=True, slots=True)
class Module:
    """A program: helpers, each before its callers, event handlers, then the task's functions, the main one last.

    `named` is the number of functions that the task names: more than one if it declares others besides the main one.
    `handled` is the number of event handlers. `chosen` is what the policy says of itself, by name (`SLOW_START`).
    """

    parameters: tuple[tuple[str, float], ...]
    functions: tuple[Function, ...]
    documentation: str = field(default="", compare=False)
    named: int = 1
    handled: int = 0
    variables: tuple[Variable, ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()

    @property
    def entry(self) -> Function:
        """The main function that the task names."""
        return self.functions[-1]

    @property
    def entries(self) -> tuple[Function, ...]:
        """All functions that the task names, the main one last."""
        return self.functions[-self.named :]

    @property
    def helpers(self) -> tuple[Function, ...]:
        """The functions that the task does not name."""
        return self.functions[: -self.named - self.handled]

    @property
    def handlers(self) -> tuple[Function, ...]:
        """The event handlers."""
        return self.functions[-self.named - self.handled : -self.named]

    @property
    def draws(self) -> bool:
        """True if a handler draws random numbers."""
        return any(isinstance(e, Draw) for handler in self.handlers for e in expressions(handler.body))

    @property
    def uses_state(self) -> bool:
        """True if it uses anything that only tasks with events offer."""
        used = (e.operation for f in self.functions for e in expressions(f.body) if isinstance(e, Operate))
        return bool(self.variables or self.handlers) or "hash" in used

    def of(self, name: str) -> Module:
        """Return the program of one function that the task names, with the helpers it reaches, and all event handlers.

        Raises KeyError.
        """
        if self.named == 1 and name == self.entry.name:
            return self
        entry = next((function for function in self.entries if function.name == name), None)
        if entry is None:
            raise KeyError(name)
        return replace(self, functions=(*self.reached(*self.handlers, entry), *self.handlers, entry), named=1)

    def alone(self, name: str) -> Module:
        """Return the program of one function or event handler that the task names, with the helpers it reaches.

        It has no (other) handlers, so it computes what it is to compute only while the state is as it was declared.
        Raises KeyError.
        """
        for function in (*self.entries, *self.handlers):
            if function.name == name:
                return replace(self, functions=(*self.reached(function), function), named=1, handled=0)
        raise KeyError(name)

    def of_events(self) -> Module:
        """Return the program of the event handlers: the helpers and parameters they use, and no main function."""
        functions = (*self.reached(*self.handlers), *self.handlers, Function("", (), ()))
        whole = Module(self.parameters, functions, handled=self.handled, variables=self.variables)
        return whole.without_unused_parameters()

    def without_unused_parameters(self) -> Module:
        read = (*(v.initial for v in self.variables), *(e for f in self.functions for e in expressions(f.body)))
        used = {e.name for e in read if isinstance(e, Parameter)}
        return replace(self, parameters=tuple((name, value) for name, value in self.parameters if name in used))

    def reached(self, *functions: Function) -> tuple[Function, ...]:
        """Return the helpers that the functions call, directly or not."""
        return reached(self.helpers, functions)


_CHILDREN: Mapping[type, Callable[[Any], tuple[Expression, ...]]] = {
    Operate: lambda e: e.operands,
    Compare: lambda e: e.operands,
    Choose: lambda e: (e.test, e.then, e.otherwise),
    Call: lambda e: e.arguments,
    Occurrences: lambda e: (e.value,),
    Element: lambda e: (e.index,),
}


def children(expression: Expression) -> tuple[Expression, ...]:
    of_kind = _CHILDREN.get(type(expression))
    return of_kind(expression) if of_kind else ()


def inside(statement: Statement) -> tuple[tuple[Expression, ...], tuple[tuple[Statement, ...], ...]]:
    """Return the expressions that the statement holds itself, in the order of evaluation, and the blocks in it."""
    match statement:
        case Assign(_, value) | Return(value):
            return (value,), ()
        case Write():
            return statement.expressions, ()
        case If(test, then, otherwise):
            return (test,), (then, otherwise)
        case Loop(body=body):
            return (), (body,)
        case _:
            return (), ()


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement, in the order of the source."""
    for statement in body:
        yield statement
        for block in inside(statement)[1]:
            yield from statements(block)


def held(body: tuple[Statement, ...]) -> Iterator[Expression]:
    """Yield every whole expression in the statements, in the order of the source."""
    for statement in statements(body):
        yield from inside(statement)[0]


def expressions(body: tuple[Statement, ...]) -> Iterator[Expression]:
    """Yield every expression in the statements, outer ones before their parts."""
    for whole in held(body):
        yield from parts(whole)


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and every part of it, outer ones before their parts."""
    pending = [expression]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(reversed(children(part)))


def called_names(body: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(e.function for e in expressions(body) if isinstance(e, Call))


def reached(helpers: tuple[Function, ...], callers: Iterable[Function]) -> tuple[Function, ...]:
    """Return the helpers, each before its callers, that the callers call, directly or not."""
    needed = {name for function in callers for name in called_names(function.body)}
    kept: list[Function] = []
    for helper in reversed(helpers):
        if helper.name in needed:
            needed |= called_names(helper.body)
            kept.insert(0, helper)
    return tuple(kept)


def local_names(body: tuple[Statement, ...]) -> frozenset[str]:
    """Return the locals that the statements read."""
    return frozenset(e.name for e in expressions(body) if isinstance(e, Local))


def writes(body: tuple[Statement, ...]) -> Iterator[Write]:
    """Return every write of state or of a control in the statements."""
    return (statement for statement in statements(body) if isinstance(statement, Write))


def stored_names(body: tuple[Statement, ...]) -> frozenset[str]:
    """Return the state and controls that the statements write."""
    return frozenset(write.name for write in writes(body))


def assigned_names(body: tuple[Statement, ...]) -> frozenset[str]:
    """Return the locals that the statements assign, also as counters of loops."""
    return frozenset(statement.name for statement in statements(body) if isinstance(statement, Assign | Loop))


def may_return(body: tuple[Statement, ...]) -> bool:
    """Check whether any path through the statements contains a `return`."""
    return any(isinstance(statement, Return) for statement in statements(body))


def ends(body: tuple[Statement, ...]) -> bool:
    """Check whether nothing behind the statements is reached."""
    match body[-1:]:
        case (Return() | Break() | Continue(),):
            return True
        case (If(then=then, otherwise=otherwise),):
            return ends(then) and ends(otherwise)
        case _:
            return False
