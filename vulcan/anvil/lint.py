"""Lint of accepted programs: interval analysis over the task's declarations, dependence, unused and dead code.

A warning is a help, not a verdict: arithmetic is total, so the program still has a result for every input. Nothing is
reported that the analysis can prove impossible; but it may fail to prove it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import follow
from vulcan.anvil.analysis.facts import AbstractValue
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.grammar import grammar
from vulcan.anvil.parse import dotted, is_docstring, parse, position, reachable, within
from vulcan.anvil.rejection import Remark
from vulcan.anvil.unparse import expression_source
from vulcan.task import Signature
from vulcan.terminal_text import format_number


def unused_names(tree: ast.Module, named: Sequence[str]) -> Iterator[tuple[ast.AST, str]]:
    """Yield the location and description of each unused name. `named` are the functions that the task names."""
    names = {node.name: _names(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    called = reachable(named, lambda name: _loaded(names[name]) & names.keys())
    loaded = {name for function in called for name in _loaded(names[function])}
    loaded |= {
        n.id for node in tree.body if isinstance(node, ast.ClassDef) for n in within(node) if isinstance(n, ast.Name)
    }
    for node in tree.body:
        match node:
            case ast.Assign(value=ast.Constant(value=str())):
                pass  # a choice among those that the task offers
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name not in loaded:
                    yield node, f"the parameter {name!r} is never used"
            case ast.FunctionDef(name=name) if name not in called:
                yield node, f"the helper {name!r} is never called"
            case ast.FunctionDef():
                yield from _in_function(node, names[node.name], is_helper=node.name not in named)
            case _:
                pass


def unreachable_code(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the first statement of each block after one that never falls through."""
    for block in _blocks(tree.body):
        yield from _behind(block)


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for statement in body:
        for block in (getattr(statement, "body", []), getattr(statement, "orelse", [])):
            yield from _blocks(block)


def _behind(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement, following in pairwise(block):
        if _ends(statement):
            if not (isinstance(following, ast.Pass) or is_docstring(following)):
                yield following
            return


def _ends(node: ast.stmt) -> bool:
    match node:
        case ast.Return() | ast.Break() | ast.Continue():
            return True
        case ast.If(body=body, orelse=orelse):
            return bool(orelse) and any(map(_ends, body)) and any(map(_ends, orelse))
        case _:
            return False


def _names(node: ast.FunctionDef) -> list[ast.Name]:
    return [each for each in within(node) if isinstance(each, ast.Name)]


def _loaded(names: Iterable[ast.Name]) -> set[str]:
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _in_function(node: ast.FunctionDef, names: list[ast.Name], is_helper: bool) -> Iterator[tuple[ast.AST, str]]:
    loaded = _loaded(names)
    for argument in node.args.args if is_helper else ():
        if not (argument.arg in loaded or argument.arg.startswith("_")):
            yield argument, f"the argument {argument.arg!r} of {node.name!r} is never used"
    first: dict[str, ast.Name] = {}
    for name in sorted(names, key=position):
        if isinstance(name.ctx, ast.Store):
            first.setdefault(name.id, name)
    used = loaded | _counters(node.body) | {argument.arg for argument in node.args.args}
    for unused in sorted(first.keys() - used):
        if not unused.startswith("_"):
            yield first[unused], f"the name {unused!r} is assigned and never used"


def _counters(body: list[ast.stmt]) -> set[str]:
    loops = (statement for block in _blocks(body) for statement in block if isinstance(statement, ast.For))
    return {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}


_OF_EARLIER_VALUES = frozenset(
    {"latest", "avg", "min", "max", "ewma", "recent", "window_avg", "window_percentile", "percentile"}
)
"""Statistics that lie among the values that were observed, or are that of a feature without any."""


def _of_statistics(program: ir.Module, assumed: Sequence[ir.Expression]) -> Iterator[ir.Expression]:
    """Yield what the assumptions say of statistics: of `obj.last_access <= now`, that its earlier values are too.

    It is so where the upper side is a feature without an entity or group, such as a clock, which does not fall.
    """
    later: dict[str, list[ir.Read]] = {}
    for e in assumed:
        if isinstance(e, ir.Compare):
            for operator, a, b in zip(e.operators, e.operands, e.operands[1:], strict=False):
                if operator == "<=" and isinstance(a, ir.Read) and isinstance(b, ir.Read) and "." not in b.feature:
                    later.setdefault(a.feature, []).append(b)
    if later:
        for function in program.functions:
            for e in ir.expressions(function.body):
                if isinstance(e, ir.Statistic) and e.kind in _OF_EARLIER_VALUES:
                    yield from (ir.Compare(("<=",), (e, clock)) for clock in later.get(e.feature, ()))


_MAX_TEXT = 60
_MAX_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class LintResult:
    """A program's warnings; `constant` says why its result is the same for every input, None where it may differ."""

    warnings: tuple[Remark, ...]
    constant: str | None


def lint(source: str, program: ir.Module, signature: Signature, assumed: Sequence[ir.Expression] = ()) -> LintResult:
    """Lint a checked program: return warnings in line order, at most 20.

    The signature has the arguments of every function that the task names. No operation is warned of that is defined
    wherever all that is `assumed` holds.
    """
    return _Doubts(source, program, signature, assumed).all()


class _Doubts:
    def __init__(self, source: str, program: ir.Module, signature: Signature, assumed: Sequence[ir.Expression]) -> None:
        self.assumed = assumed
        self.tree = parse(source)
        self.program = program
        self.signature = signature
        self.as_it_is = follow(program, signature)
        self.however_tuned = follow(program, signature, any_parameters=True) if program.parameters else self.as_it_is
        self.settled: set[int] = set()
        """Identities of expressions in conditions already warned of, which are not reported again."""

    def all(self) -> LintResult:
        constant = self.constant()
        made = [*self.operands(), *self.conditions(), *self.unreached(), *self.unused()]
        for entry in self.program.entries:
            why = None if self.sets_controls else self.constant_of(entry.name)
            made += self.constant_result(entry.name, why) if why is not None else self.without_influence(entry.name)
        unique = sorted(set(made), key=lambda w: (w.line, w.column, w.rule, w.message))
        return LintResult(tuple(unique[:_MAX_WARNINGS]), constant)

    def warning(self, name: str, at: ir.Position, message: str) -> Remark:
        return Remark(name, *at, message, grammar.WARNINGS[name])

    def text(self, expression: ir.Expression) -> str:
        """Return the expression as source."""
        text = expression_source(expression, self.signature)
        return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."

    # The operands of operations

    def operands(self) -> Iterator[Remark]:
        doubts = self.as_it_is.doubts
        if doubts and self.assumed:
            assumed = [*self.assumed, *_of_statistics(self.program, self.assumed)]
            doubts = follow(self.program, self.signature, assumed=assumed).doubts
        for (at, e), bounds in doubts.items():
            assert isinstance(e, ir.Operate)
            whole = self.text(e)
            if e.operation in ("divide", "floor_divide", "modulo"):
                divisor = e.operands[1]
                if bounds.low == bounds.high:
                    yield self.warning("zero-divisor", at, f"`{whole}` is always 0, for its divisor is")
                else:
                    yield self.warning("zero-divisor", at, f"`{self.text(divisor)}`, {_range(bounds)}, may be 0, and "
                                       f"`{whole}` is 0 there")  # fmt: skip
            else:
                operand = self.text(e.operands[0])
                why = {"power": "a power of it", "sqrt": "its square root"}.get(e.operation, "its logarithm")
                yield self.warning(
                    "outside-domain", at, f"`{operand}` is {_range(bounds)}: where {why} has no value, `{whole}` is 0"
                )

    # Conditions and unreachable code

    def conditions(self) -> Iterator[Remark]:
        """Yield warnings of tests first, then of comparisons that are no part of an earlier warning."""
        constant = {place: seen for place, seen in self.however_tuned.outcomes.items() if len(seen) == 1}
        for tests in (True, False):
            for (at, e), (outcome,) in constant.items():
                if tests == (at != _place(e)) and id(e) not in self.settled:
                    self.settled.update(map(id, ir.parts(e)))
                    effect = f", so its {'other branch' if outcome else 'branch'} is never taken" if tests else ""
                    yield self.condition(at, e, outcome, effect)

    def condition(self, at: ir.Position, e: ir.Expression, outcome: bool, effect: str) -> Remark:
        bounds = self.compared(e)
        return self.warning(
            "constant-condition", at, f"`{self.text(e)}` {'always' if outcome else 'never'} holds{bounds}{effect}"
        )

    def compared(self, e: ir.Expression) -> str:
        """Return the declared range of a feature compared with a number."""
        features = dict(self.signature.features())
        for part in e.operands if isinstance(e, ir.Compare) else ():
            if isinstance(part, ir.Read):
                feature = features[part.feature]
                return f" (`{part.feature}` is {_range(Interval(feature.low, feature.high))})"
        return ""

    def unreached(self) -> Iterator[Remark]:
        for node in unreachable_code(self.tree):
            yield self.warning("unreachable", position(node), "nothing goes on to here")
        reached = self.however_tuned.reached
        for function in self.program.functions:
            if function.body and id(function.body[0]) in reached:
                yield from self.unreached_in(function.body, reached)

    def unreached_in(self, body: tuple[ir.Statement, ...], reached: set[int]) -> Iterator[Remark]:
        for number, statement in enumerate(body):
            if id(statement) not in reached:
                at = getattr(statement, "at", None)
                if number and at is not None:  # the first one's condition has its own warning
                    yield self.warning("unreachable", at, "the conditions before it let nothing go on to here")
                return
            match statement:
                case ir.If(_, then, otherwise):
                    yield from self.unreached_in(then, reached)
                    yield from self.unreached_in(otherwise, reached)
                case ir.Loop(body=inner, trips=0, at=at):
                    if inner:
                        yield self.warning("unreachable", at, "this loop never turns")
                case ir.Loop(body=inner):
                    yield from self.unreached_in(inner, reached)
                case _:
                    pass

    # Unused names and features

    def unused(self) -> Iterator[Remark]:
        named = [function.name for function in (*self.program.handlers, *self.program.entries)]
        for node, message in unused_names(self.tree, named):
            yield self.warning("unused-name", position(node), message)
        yield from self.unused_state()

    def unused_state(self) -> Iterator[Remark]:
        """Yield warnings of state that is never read, or never written."""
        bodies = [function.body for function in self.program.functions]
        read = {e.name for body in bodies for e in ir.expressions(body) if isinstance(e, ir.Cell | ir.Element)}
        written = {name for body in bodies for name in ir.stored_names(body)}
        for variable in self.program.variables:
            if variable.name in read & written:
                continue
            missing = "read" if variable.name not in read else "written"
            yield self.warning("unused-state", self.declared_at(variable), f"`{variable.name}` is never {missing}")

    def declared_at(self, variable: ir.Variable) -> ir.Position:
        owner, _, name = variable.name.partition(".")
        declared = (node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == owner)
        stored = (n for node in declared for n in within(node) if isinstance(n, ast.Name) and n.id == name)
        return min(position(n) for n in stored)

    def without_influence(self, function: str) -> Iterator[Remark]:
        result = self.however_tuned.results[function]
        for leaf, at in self.leaves(function).items():
            if leaf not in result.depends:
                yield self.warning(
                    "no-influence", at, f"`{self.text(leaf)}` is read, but has no influence on the result"
                )

    def leaves(self, name: str) -> dict[ir.Expression, ir.Position]:
        """Return everything that a function named by the task reads, with the position of the first read."""
        found: dict[ir.Expression, ir.Position] = {}
        for function in self.program.alone(name).functions:
            for e in ir.expressions(function.body):
                match e:
                    case _ if id(e) in self.settled:
                        pass
                    case ir.Read() | ir.Statistic():
                        found.setdefault(e, e.at)
                    case ir.Occurrences(statistic, _):
                        found.setdefault(statistic, e.at)
                    case ir.Query(history, query):
                        found.setdefault(e, self.place_of(f"{history}.{query}", name))
                    case _:
                        pass
        return found

    def place_of(self, name: str, function: str) -> ir.Position:
        read = within(self.definition(function))
        return min(position(n) for n in read if isinstance(n, ast.Attribute) and dotted(n) == name)

    def definition(self, function: str) -> ast.FunctionDef:
        found = (node for node in self.tree.body if isinstance(node, ast.FunctionDef))
        return next(node for node in found if node.name == function)

    # Constant results

    def constant(self) -> str | None:
        """Return the reason why every function's result is constant; None where one may differ.

        Handlers that set controls of events decide something too.
        """
        if self.sets_controls:
            return None
        reasons = [(entry.name, self.constant_of(entry.name)) for entry in reversed(self.program.entries)]
        known = [(name, why) for name, why in reasons if why is not None]
        if len(known) < len(reasons):
            return None
        return known[0][1] if len(known) == 1 else "; ".join(f"{name}: {why}" for name, why in known)

    @cached_property
    def sets_controls(self) -> bool:
        declared = {variable.name for variable in self.program.variables}
        return any(ir.stored_names(handler.body) - declared for handler in self.program.handlers)

    def constant_of(self, function: str) -> str | None:
        for findings, why in ((self.however_tuned, ""), (self.as_it_is, " with the parameters as they are")):
            if (reason := _constant(findings.results[function])) is not None:
                return reason + why
        return None

    def constant_result(self, function: str, why: str) -> Iterator[Remark]:
        at = position(self.definition(function))
        yield self.warning("constant-result", at, f"the result is the same for every input: {why}")


def _constant(result: AbstractValue) -> str | None:
    if result.is_one_value:
        return f"it is always {format_number(result.bounds.low)}"
    return None if result.depends else "it depends on nothing that the function is shown"


def _place(e: ir.Expression) -> ir.Position | None:
    """Return a comparison's position; None for other expressions."""
    return e.at if isinstance(e, ir.Compare) else None


def _range(bounds: Interval) -> str:
    return f"from {format_number(bounds.low)} to {format_number(bounds.high)}"
