"""IR of a checked program: expressions and statements in which every value is a float64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vulcan.anvil.grammar.grammar import Scope

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


Expression = Number | Parameter | Local | Read | Statistic | Occurrences | Query | Operate | Compare | Choose | Call


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


Statement = Assign | If | Loop | Break | Continue | Return


@dataclass(frozen=True, slots=True)
class Function:
    """A helper, whose arguments are numbers; or an entry, whose arguments are the task's."""

    name: str
    arguments: tuple[str, ...]
    body: tuple[Statement, ...]
    documentation: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Module:
    """A program: helpers, each before its callers, then the functions that the task names, the main one last.

    `named` is the number of functions that the task names: more than one if it declares others besides the main one.
    """

    parameters: tuple[tuple[str, float], ...]
    functions: tuple[Function, ...]
    documentation: str = field(default="", compare=False)
    named: int = 1

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
        return self.functions[: -self.named]

    def of(self, name: str) -> Module:
        """Return the program of one function that the task names, with the helpers it reaches. Raises KeyError."""
        if self.named == 1 and name == self.entry.name:
            return self
        entry = next((function for function in self.entries if function.name == name), None)
        if entry is None:
            raise KeyError(name)
        needed = set(called_names(entry.body))
        helpers: list[Function] = []
        for helper in reversed(self.helpers):
            if helper.name in needed:
                needed |= called_names(helper.body)
                helpers.insert(0, helper)
        return Module(self.parameters, (*helpers, entry), self.documentation)


def children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Operate(_, operands) | Compare(_, operands):
            return operands
        case Choose(test, then, otherwise):
            return (test, then, otherwise)
        case Call(_, arguments):
            return arguments
        case Occurrences(_, value):
            return (value,)
        case _:
            return ()


def expressions(body: tuple[Statement, ...]) -> Iterator[Expression]:
    """Yield every expression in the statements, outer ones before their parts."""
    for statement in body:
        match statement:
            case Assign(_, value) | Return(value):
                yield from _walk(value)
            case If(test, then, otherwise):
                yield from _walk(test)
                yield from expressions(then)
                yield from expressions(otherwise)
            case Loop(body=inner):
                yield from expressions(inner)
            case _:
                pass


def _walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    for part in children(expression):
        yield from _walk(part)


def called_names(body: tuple[Statement, ...]) -> frozenset[str]:
    return frozenset(e.function for e in expressions(body) if isinstance(e, Call))


def assigned_names(body: tuple[Statement, ...]) -> frozenset[str]:
    names: set[str] = set()
    for statement in body:
        match statement:
            case Assign(name, _):
                names.add(name)
            case If(_, then, otherwise):
                names |= assigned_names(then) | assigned_names(otherwise)
            case Loop(name=name, body=inner):
                names |= {name} | assigned_names(inner)
            case _:
                pass
    return frozenset(names)
