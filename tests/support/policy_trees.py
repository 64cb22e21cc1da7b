"""Random policies as syntax trees over the whole grammar table, under names that the back ends might trip over.

Every table of `grammar` is drawn from, so that a construct which is added there is tried without further ado. Names are
those that C, its headers, Python, LLVM and the exporters use themselves; the functions of a policy share them, so that
they shadow one another. Helpers assign to their own arguments, and count loops with them. A policy of a task with
events declares registers, arrays and fields, under the same names, and handles some of the events.

`random_program` and `programs` are of moderate size and under plain names.
"""

from __future__ import annotations

import ast
import copy
import keyword
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.grammar import grammar
from vulcan.task import MECHANISM, Entity, Event, History, Signature, Task

T = TypeVar("T")

C_NAMES = """
    auto bool char const default do double enum extern float int inline long register restrict short signed sizeof
    static struct switch typedef union unsigned void volatile _Bool _Complex asm typeof alignas constexpr nullptr true
    false linux unix errno stdin stdout EOF NULL NAN INFINITY HUGE_VAL M_PI I assert signbit isnan isfinite fabs fmin
    fmax exp2 pow sqrt floor rint log2 j0 y0 y1 jn yn gamma div index main printf remainder memset memcpy abs_ int64_t
    uint64_t size_t policy policy_min policy_state policy_turn_1 policy_helper_f POLICY_H features state entity own_x
    class new delete this template operator namespace virtual private public friend export and_eq not_eq xor bitand
    compl using typename mutable explicit catch throw try_ wchar_t char16_t concept requires co_await decltype
"""
PYTHON_NAMES = """
    match case type _ __ self cls print len sum Exception ValueError object property __builtins __name __file map
    frozenset _power _divide _saturate _see _LARGEST _Entity _Statistics _USES POLICY VULCAN_EXPORT PolicyCache l O I
    f0 f1 v0 v1 __init__ __class__ NotImplemented Ellipsis copyright exit eval
"""
LLVM_NAMES = (
    "define declare double_ ret entry i64 ptr anvil_pow llvm_sqrt_f64 score observe update enter leave globals key"
)
PLAIN_NAMES = "x y total a0 WEIGHT Scale"
NAMES = tuple(
    name
    for name in dict.fromkeys(f"{C_NAMES} {PYTHON_NAMES} {LLVM_NAMES} {PLAIN_NAMES}".split())
    if not keyword.iskeyword(name) and name not in grammar.BUILT_IN_NAMES
)
MERELY_NUMBERED = tuple(f"x{number}" for number in range(24))

NUMBERS: tuple[int | float | bool, ...] = (
    0, 1, 2, 3, 10, 100, 2**31, 2**53, 2**53 + 1, True, False, 0.0, 0.5, 1.5, 2.5, 0.1, 1 / 3, 1e-3, 1e-9, 1e6, 1e12,
    709.8, 745.2, 5e-324, 2.2250738585072014e-308, 1e154, 1e300, 1.7976931348623157e308,
)  # fmt: skip
ORDINARY: tuple[int | float | bool, ...] = (0, 1, 2, 3, 10, 100, True, False, 0.5, 1.5, 2.5, 0.1, 1 / 3, 1e-3)

SIZES = (40, 120, 250, 600)
"""Nodes after which only leaves are written; the language admits 1,000."""
MODERATE = (60, 120)
IN_FLOATS_ONLY = ("math.sin", "math.cos", "math.atan")
TOO_LARGE = {"operations", "too-large", "too-long", "too-deep"}
"""The rules that a policy may break: it was written larger than the language or the task admits."""


@dataclass
class Names:
    """What a function may read: `assigned` on every path so far, in `loops` loops."""

    locals: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    assigned: set[str] = field(default_factory=set)
    loops: int = 0
    signature: Signature | None = None
    handles: bool = False


class Trees:
    """Writes one policy of a task; an ordinary one has no extreme numbers, and only what integers can compute too."""

    def __init__(
        self,
        task: Task,
        random: Random,
        *,
        ordinary: bool = False,
        names: Sequence[str] = NAMES,
        sizes: Sequence[int] = SIZES,
        statistics: bool = True,
    ) -> None:
        self.task = task
        self.random = random
        self.numbers = ORDINARY if ordinary else NUMBERS
        self.known = [name for name in grammar.FUNCTIONS if not (ordinary and name in IN_FLOATS_ONLY)]
        self.most_nodes = random.choice(sizes)
        self.statistics = statistics
        self.nodes = 0
        self.helpers: list[tuple[str, int]] = []
        self.cells: list[str] = []
        self.arrays: list[str] = []
        shown = (*task.functions, *task.events)
        taken = {f.function for f in shown} | {a.name for f in shown for a in f.arguments}
        taken |= {"policy", "hash", "random"} if task.events else set()
        self.names = names
        free = [name for name in names if name not in taken]
        chosen = random.sample(free, 12)
        self.parameters, self.of_helpers, self.of_locals = chosen[:3], chosen[3:6], tuple(chosen[6:])

    def source(self) -> str:
        """The text of a policy."""
        body: list[ast.stmt] = [ast.Import([ast.alias("math")])] if self.chance(0.7) else []
        if self.chance(0.2):
            body.insert(0, self.remark())
        if MECHANISM in self.task.policy_choices:
            body.append(ast.Assign([ast.Name(MECHANISM)], ast.Constant(self.task.mechanism)))
        self.parameters = self.parameters[: self.random.randrange(4)]
        for name in self.parameters:
            body.append(self.assignment(name, self.signed(self.number())))
        if self.task.events:
            body += self.state()
        functions: list[ast.stmt] = []
        for name in self.of_helpers[: self.random.randrange(4)]:
            arguments = tuple(self.random.sample(self.of_locals, self.random.randrange(4)))
            functions.append(self.function(name, Names(self.of_locals, arguments, set(arguments))))
            self.helpers.append((name, len(arguments)))
        handled = [event for event in self.task.events if self.chance(0.7)]
        for declared in (*handled, *self.task.functions):
            arguments = tuple(argument.name for argument in declared.arguments)
            names = Names(self.of_locals, arguments, signature=declared, handles=isinstance(declared, Event))
            self.nodes //= 2  # so that there is room for something in each
            functions.append(self.function(declared.function, names))
        self.random.shuffle(functions)  # helpers may stand behind what calls them
        return ast.unparse(ast.fix_missing_locations(ast.Module([*body, *functions], [])))

    def state(self) -> list[ast.stmt]:
        """Declare state, the class of the entity's fields before or behind that of the policy."""

        def initial() -> ast.expr:
            use = self.parameters and self.chance(0.3)
            return ast.Name(self.pick(self.parameters)) if use else self.signed(self.number())

        names = self.random.sample([name for name in self.names if not name.startswith("__")], 6)
        self.cells = [f"policy.{name}" for name in names[:3]]
        self.arrays = [f"policy.{name}" for name in names[3 : 3 + self.random.randrange(3)]]
        members: list[ast.stmt] = [ast.Assign([ast.Name(name.partition(".")[2])], initial()) for name in self.cells]
        for name in self.arrays:
            length = ast.Constant(self.pick((1, 2, 7, 64)))
            value = ast.BinOp(ast.List([initial()]), ast.Mult(), length)
            members.append(ast.Assign([ast.Name(name.partition(".")[2])], value))
        classes = [_class("policy", members)]
        entity = next((a for f in self.task.functions for a in f.arguments if isinstance(a, Entity)), None)
        if entity is not None and self.chance(0.7):
            taken = {feature.name for feature in entity.features}
            field = self.pick([name for name in names[3:] if name not in taken])
            self.cells.append(f"{entity.name}.{field}")
            classes.append(_class(entity.name, [ast.Assign([ast.Name(field)], initial())]))
        self.random.shuffle(classes)
        return [*classes]

    def readable(self, names: Names) -> list[str]:
        """The registers, and the fields if the function is shown the entity."""
        shown = {argument.name for argument in names.signature.arguments} if names.signature is not None else set()
        return [name for name in self.cells if name.partition(".")[0] in {"policy", *shown}]

    def written(self, names: Names) -> ast.stmt:
        """Write a register, a field, an element or a control."""
        assert isinstance(names.signature, Event)
        controls = list(names.signature.settable)
        target = _dotted(self.pick([*self.readable(names), *self.arrays, *controls]))
        name = ast.unparse(target)
        if name in self.arrays:
            target = ast.Subscript(target, self.expression(names, 2))
        value = self.draw() if self.chance(0.2) else self.expression(names, 3)
        if self.chance(0.4) and name not in controls:
            return ast.AugAssign(target, self.pick(list(grammar.BINARY))(), value)
        return ast.Assign([target], value)

    def draw(self) -> ast.expr:
        return _call("random", [])

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    # Statements

    def function(self, name: str, names: Names) -> ast.FunctionDef:
        first = [self.written(names)] if names.handles else []
        body, ends = self.block(names, self.random.randrange(1, 6), 3)
        body = [*first, *body]
        if self.chance(0.15):
            body.insert(0, self.remark())
        if not ends and not names.handles:
            body.append(ast.Return(self.expression(names, 4)))
        annotation = ast.Name("float") if names.signature is None and self.chance(0.2) else None
        arguments = [ast.arg(argument, annotation) for argument in names.arguments]
        return ast.FunctionDef(name, ast.arguments([], arguments, None, [], [], None, []), body, [], annotation)

    def remark(self) -> ast.Expr:
        return ast.Expr(
            ast.Constant(self.pick(("a remark", 'in "quotes"', "back\\slash */", "", "two\nlines", "é\x00?'")))
        )

    def assignment(self, name: str, value: ast.expr) -> ast.stmt:
        if self.chance(0.2):
            return ast.AnnAssign(ast.Name(name), ast.Name(self.pick(("int", "float", "bool"))), value, 1)
        return ast.Assign([ast.Name(name)], value)

    def block(self, names: Names, count: int, depth: int) -> tuple[list[ast.stmt], bool]:
        done: list[ast.stmt] = []
        for _ in range(count):
            statement, ends = self.statement(names, depth)
            done.append(statement)
            if ends:
                return done, True
        return done or [ast.Pass()], False

    def statement(self, names: Names, depth: int) -> tuple[ast.stmt, bool]:
        kinds = {"assign": 5, "change": 2, "pass": 0.3, "remark": 0.2}
        if depth > 0 and self.nodes < self.most_nodes:
            kinds |= {"if": 3, "for": 1.5 if names.loops < 2 else 0}
        if depth < 3:
            kinds |= {"return": 0.7, "leave": 1.0 if names.loops else 0}
        kinds |= {"write": 6} if names.handles else {}
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        match kind:
            case "write":
                return self.written(names), False
            case "return" if names.handles:
                return ast.Return(), True
            case "change" if names.assigned:
                name = self.pick(sorted(names.assigned))
                value = self.expression(names, 3)
                return ast.AugAssign(ast.Name(name), self.pick(list(grammar.BINARY))(), value), False
            case "if":
                return self.branch(names, depth)
            case "for":
                return self.loop(names, depth), False
            case "return":
                return ast.Return(self.expression(names, 3)), True
            case "leave":
                return self.pick((ast.Break, ast.Continue))(), True
            case "pass":
                return ast.Pass(), False
            case "remark":
                return self.remark(), False
        value = self.expression(names, 4)
        name = self.pick(names.locals)
        names.assigned = names.assigned | {name}
        return self.assignment(name, value), False

    def branch(self, names: Names, depth: int) -> tuple[ast.stmt, bool]:
        test = self.expression(names, 3)
        before = names.assigned
        then, then_ends = self.block(names, self.random.randrange(1, 3), depth - 1)
        after_then, names.assigned = names.assigned, before
        otherwise: list[ast.stmt] = []
        ends = False
        if self.chance(0.6):
            otherwise, ends = self.block(names, self.random.randrange(1, 3), depth - 1)
        if not then_ends:
            names.assigned = after_then if ends else names.assigned & after_then
        return ast.If(test, then, otherwise), then_ends and ends

    def loop(self, names: Names, depth: int) -> ast.stmt:
        name = self.pick(names.locals)
        bounds = self.pick(((3,), (2,), (0,), (1, 4), (5, 0, -2), (-3, 3, 2), (2, 2), (0, -2, -1), (1,)))
        before = names.assigned
        names.assigned = before | {name}
        names.loops += 1
        body, _ = self.block(names, self.random.randrange(1, 4), depth - 1)
        names.loops -= 1
        names.assigned = before | {name} if range(*bounds) else before
        return ast.For(ast.Name(name), _call("range", [_integer(bound) for bound in bounds]), body, [])

    # Expressions

    def expression(self, names: Names, depth: int) -> ast.expr:
        self.nodes += 2
        if depth <= 0 or self.nodes > self.most_nodes or self.chance(0.15):
            return self.leaf(names)
        part = lambda: self.expression(names, depth - 1)  # noqa: E731
        match self.random.randrange(8):
            case 0 | 1:
                return ast.BinOp(*self.two(names, depth, self.pick(list(grammar.BINARY))()))
            case 2:
                return ast.UnaryOp(self.pick(list(grammar.UNARY))(), part())
            case 3:
                values = [part() for _ in range(self.random.randrange(2, 4))]
                return ast.BoolOp(self.pick(list(grammar.BOOLEAN))(), values)
            case 4:
                return self.comparison(names, depth)
            case 5:
                return ast.IfExp(part(), part(), part())
        return self.call(names, depth)

    def two(self, names: Names, depth: int, operator: ast.operator) -> tuple[ast.expr, ast.operator, ast.expr]:
        left = self.expression(names, depth - 1)
        right = copy.deepcopy(left) if self.chance(0.1) else self.expression(names, depth - 1)
        return left, operator, right

    def comparison(self, names: Names, depth: int) -> ast.expr:
        operands = [self.expression(names, depth - 1) for _ in range(self.random.randrange(2, 5))]
        for index in range(1, len(operands)):
            if self.chance(0.25):
                operands[index] = copy.deepcopy(operands[index - 1])
        operators = [self.pick(list(grammar.COMPARISONS))() for _ in operands[1:]]
        return ast.Compare(operands[0], operators, operands[1:])

    def call(self, names: Names, depth: int) -> ast.expr:
        if self.helpers and self.chance(0.35):
            name, count = self.pick(self.helpers)
        else:
            name = self.pick(self.known)
            least, most = grammar.FUNCTIONS[name].arguments
            count = least if most is not None else least + self.random.randrange(3)
        return _call(name, [self.expression(names, depth - 1) for _ in range(count)])

    def leaf(self, names: Names) -> ast.expr:
        if self.cells and self.chance(0.3):
            return self.kept(names)
        if self.chance(0.5) and names.assigned:
            return ast.Name(self.pick(sorted(names.assigned)))
        if self.parameters and self.chance(0.2):
            return ast.Name(self.pick(self.parameters))
        if names.signature is not None and self.chance(0.85):
            return self.observed(names.signature, names)
        return self.signed(self.number()) if self.chance(0.9) else _dotted(self.pick(list(grammar.CONSTANTS)))

    def kept(self, names: Names) -> ast.expr:
        """Read state, or hash what is read."""
        if names.handles and self.chance(0.1):
            return self.draw()
        if self.chance(0.2):
            return _call("hash", [_dotted(self.pick(self.readable(names))), self.signed(self.number())])
        name = self.pick([*self.readable(names), *self.arrays])
        if name not in self.arrays:
            return _dotted(name)
        return ast.Subscript(_dotted(name), self.signed(self.number()) if self.chance(0.5) else self.leaf(names))

    def number(self) -> int | float | bool:
        return self.pick(self.numbers)

    def signed(self, value: int | float | bool) -> ast.expr:
        if value < 0 or (self.chance(0.15) and not isinstance(value, bool)):
            return ast.UnaryOp(ast.USub(), ast.Constant(-value if value < 0 else value))
        return ast.Constant(value)

    # What the task shows

    def observed(self, signature: Signature, names: Names) -> ast.expr:
        features = [name for name, _ in signature.features()]
        histories = [a for a in signature.arguments if isinstance(a, History)]
        if self.statistics and self.chance(0.4) and (found := self.statistic(signature, names)) is not None:
            return found
        entity = signature.entity
        if histories and entity is not None and self.chance(0.2):
            history = self.pick(histories)
            query = self.pick(list(grammar.HISTORY_QUERIES))
            return _call(f"{history.name}.{query}", [_dotted(f"{history.entity}.{entity.key}")])
        return _dotted(self.pick(features))

    def statistic(self, signature: Signature, names: Names) -> ast.expr | None:
        kind = self.pick(list(grammar.STATISTICS.values()))
        owners = [(owner, scope) for scope in kind.scopes for owner in _owners(signature, scope, kind.looks_for)]
        if not owners:
            return None
        owner, scope = self.pick(owners)
        literals: list[ast.expr] = []
        for argument in kind.arguments:
            low, high = argument.low, argument.most(scope)
            if argument.whole:
                number: float = self.pick((int(low), 2, 3, 5, min(64, int(high))))
            else:
                number = self.pick((low, high, 0.5, 0.3, 0.07, 0.999))
                number = min(max(number, low), high)
            literals.append(ast.Constant(number))
        looked_for = [self.expression(names, 1)] if kind.looks_for else []
        return _call(f"{owner}.{kind.name}", [*looked_for, *literals])


def _owners(signature: Signature, scope: grammar.Scope, looks_for: bool) -> list[str]:
    """What a statistic of the scope may be asked of, in a function of this signature."""
    entity = signature.entity
    plain = [name for name, _ in signature.features() if entity is None or name.partition(".")[0] != entity.name]
    if entity is None:
        return plain if scope == "system" else []
    own = [feature.name for feature in entity.features if feature.name != entity.key]
    if scope == "entity":
        return [f"{entity.name}.{name}" for name in own]
    if entity.population not in [argument.name for argument in signature.arguments]:
        return plain if scope == "system" else []
    keys = [entity.key] if looks_for and scope == "system" else []
    of_population = [f"{entity.population}.{name}" for name in own + keys]
    return of_population if scope == "population" else [*plain, *of_population]


def _class(name: str, members: list[ast.stmt]) -> ast.stmt:
    return ast.ClassDef(name, [], [], members, [])


def _integer(value: int) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _dotted(name: str) -> ast.expr:
    return ast.parse(name, mode="eval").body


def _call(function: str, arguments: list[ast.expr]) -> ast.expr:
    return ast.Call(_dotted(function), arguments, [])


def random_program(task: Task, random: Random, *, statistics: bool = True) -> str:
    return Trees(task, random, names=MERELY_NUMBERED, sizes=MODERATE, statistics=statistics).source()


def programs(task: Task) -> st.SearchStrategy[str]:
    return st.integers(0, 2**32).map(lambda seed: random_program(task, Random(seed)))


def accepted(source: str, task: Task) -> Policy | None:
    """The policy; None where it was written too large."""
    try:
        return check(source, task)
    except Rejected as rejected:
        assert {violation.rule for violation in rejected.violations} <= TOO_LARGE, f"{rejected}\n{source}"
        return None
