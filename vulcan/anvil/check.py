"""The checker: a syntax tree becomes a Program, or a list of located violations.

It accepts by the grammar table and a task's signature; what is not named there is rejected.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vulcan.anvil import grammar
from vulcan.anvil import program as p
from vulcan.anvil.rejection import Rejected, Violation, violation
from vulcan.anvil.semantics import LARGEST
from vulcan.errors import nearest
from vulcan.task import Feature, History, Scalar, Signature

_MOST_VIOLATIONS = 10


class _Stop(Exception):
    """This part of the tree cannot be understood; the violation is recorded already."""


def check_tree(tree: ast.Module, signature: Signature) -> p.Program:
    """The program of a syntax tree. Raises Rejected, with as many violations as could be found at once."""
    return _Checker(signature).module(tree)


@dataclass
class _Scope:
    """What one function knows: its names, and which of them hold a value on every path so far."""

    function: str
    assigned: set[str]
    seen: set[str] = field(default_factory=set)
    loops: int = 0


class _Checker:
    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.violations: list[Violation] = []
        self.parameters: dict[str, float] = {}
        self.helpers: dict[str, ast.FunctionDef] = {}
        self.calls: dict[str, list[tuple[str, ast.AST]]] = {}
        self.arguments = {argument.name: argument for argument in signature.arguments}
        self.features: dict[str, Feature] = dict(signature.features())

    # Reporting

    def report(self, rule: str, node: ast.AST | None, message: str, hint: str | None = None) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        self.violations.append(violation(rule, line, column, message, hint))

    def stop(self, rule: str, node: ast.AST | None, message: str, hint: str | None = None) -> _Stop:
        self.report(rule, node, message, hint)
        return _Stop()

    # The module

    def module(self, tree: ast.Module) -> p.Program:
        entry: ast.FunctionDef | None = None
        for index, node in enumerate(tree.body):
            match node:
                case ast.Expr(value=ast.Constant(value=str())) if index == 0:
                    pass
                case ast.Import(names=[ast.alias(name="math", asname=None)]):
                    pass
                case ast.Import() | ast.ImportFrom():
                    self.report("import", node, f"`{_snippet(node)}` is not allowed")
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.parameter(name, value, node)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                    self.annotation(annotation)
                    self.parameter(name, value, node)
                case ast.FunctionDef(name=name):
                    if name in self.helpers or (entry is not None and name == entry.name):
                        self.report("shadowing", node, f"function {name!r} is defined twice")
                    elif name == self.signature.function:
                        entry = node
                    else:
                        self.taken(name, node)
                        if name in self.parameters:
                            self.report("shadowing", node, f"{name!r} is a parameter and a function")
                        self.helpers[name] = node
                case _:
                    self.report("top-level", node, f"{_kind(node)} at the top level")
        if entry is None:
            self.report("no-function", tree.body[0] if tree.body else None, f"no function {self.spelled()}")
        functions = {name: self.function(node) for name, node in self.helpers.items()}
        top = self.function(entry) if entry is not None else None
        order = self.helper_order()
        if self.violations or top is None:
            raise Rejected(tuple(self.violations[:_MOST_VIOLATIONS]))
        used = [name for name in order if name in self.reachable()]
        return p.Program(
            parameters=tuple(self.parameters.items()),
            functions=(*(f for name in used if (f := functions[name]) is not None), top),
            documentation=ast.get_docstring(tree) or "",
        )

    def spelled(self) -> str:
        return f"`def {self.signature.function}({', '.join(self.arguments)})`"

    def parameter(self, name: str, value: ast.expr, node: ast.AST) -> None:
        self.taken(name, node)
        if name in self.parameters:
            self.report("shadowing", node, f"parameter {name!r} is set twice")
            return
        if name in self.helpers:
            self.report("shadowing", node, f"{name!r} is a parameter and a function")
        sign = 1.0
        while isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub | ast.UAdd):
            sign = -sign if isinstance(value.op, ast.USub) else sign
            value = value.operand
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            try:
                self.parameters[name] = sign * self.number(value)
            except _Stop:
                self.parameters[name] = 0.0  # so that its uses are not reported as well
        else:
            self.report("parameter", node, f"parameter {name!r} is not one number")
            self.parameters[name] = 0.0

    def taken(self, name: str, node: ast.AST) -> None:
        if not name.isascii():
            self.report("ascii", node, f"the name {name!r}")
        if name in grammar.BUILT_IN_NAMES or name in self.arguments or name == self.signature.function:
            self.report("shadowing", node, f"{name!r} is taken")

    # Functions

    def function(self, node: ast.FunctionDef) -> p.Function | None:
        before = len(self.violations)
        names = self.function_arguments(node)
        scope = _Scope(node.name, set() if node.name == self.signature.function else set(names))
        scope.seen |= scope.assigned | _stored_names(node)
        body = list(node.body)
        documentation = ast.get_docstring(node) or ""
        if documentation or _is_docstring(body[0]):
            body = body[1:]
        statements, ends = self.block(body, scope)
        if not ends:
            self.report("return", node, f"not every path through {node.name!r} ends in `return`")
        if len(self.violations) > before:
            return None
        return p.Function(node.name, names, statements, documentation)

    def function_arguments(self, node: ast.FunctionDef) -> tuple[str, ...]:
        if node.decorator_list:
            self.report("decorator", node.decorator_list[0], "a decorator")
        spec = node.args
        if spec.defaults or any(d is not None for d in spec.kw_defaults):
            self.report("default-argument", node, f"{node.name!r} has a default argument")
        if spec.posonlyargs or spec.kwonlyargs or spec.vararg or spec.kwarg:
            self.report("default-argument", node, f"{node.name!r} has arguments other than plain positional ones")
        annotations = [a.annotation for a in spec.args if a.annotation is not None]
        for annotation in [*annotations, *([node.returns] if node.returns is not None else [])]:
            self.annotation(annotation)
        if getattr(node, "type_params", None):
            self.report("annotation", node, f"{node.name!r} has type parameters")
        names = tuple(a.arg for a in spec.args)
        if len(set(names)) < len(names):
            self.report("shadowing", node, f"two arguments of {node.name!r} share a name")
        if node.name == self.signature.function:
            if names != tuple(self.arguments):
                self.report(
                    "arguments",
                    node,
                    f"the arguments of {node.name!r} are ({', '.join(names)})",
                    f"write {self.spelled()}",
                )
        else:
            for argument in spec.args:
                self.local_name(argument.arg, argument)
        return names

    def annotation(self, node: ast.expr) -> None:
        if not (isinstance(node, ast.Name) and node.id in ("int", "float", "bool")):
            self.report("annotation", node, f"the annotation `{_snippet(node)}`")

    def local_name(self, name: str, node: ast.AST) -> None:
        self.taken(name, node)
        if name in self.parameters or name in self.helpers:
            self.report("shadowing", node, f"{name!r} is a name of the module")

    # Statements: each gives what it becomes, and whether it never goes on to the next

    def block(self, nodes: list[ast.stmt], scope: _Scope) -> tuple[tuple[p.Statement, ...], bool]:
        done: list[p.Statement] = []
        ends = False
        for node in nodes:
            try:
                statement, stops = self.statement(node, scope)
            except _Stop:
                scope.assigned |= _stored_names(node)  # its uses are not at fault
                ends = ends or _may_leave(node)  # and no `return` is missing after it
                continue
            if not ends:
                done.extend(statement)
            ends = ends or stops
        return tuple(done), ends

    def statement(self, node: ast.stmt, scope: _Scope) -> tuple[tuple[p.Statement, ...], bool]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                return self.assign(name, target, value, scope), False
            case ast.AnnAssign(target=ast.Name(id=name) as target, annotation=annotation, value=ast.expr() as value):
                self.annotation(annotation)
                return self.assign(name, target, value, scope), False
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self.local_name(name, target)
                old = self.local(name, target, scope)
                new = self.operate(grammar.BINARY, op, (old, self.expression(value, scope)), node)
                return (p.Assign(name, new),), False
            case ast.If(test=test, body=body, orelse=orelse):
                return self.branch(test, body, orelse, scope)
            case ast.For():
                return self.loop(node, scope)
            case ast.Return(value=ast.expr() as value):
                return (p.Return(self.expression(value, scope)),), True
            case ast.Return():
                raise self.stop("return", node, "`return` without a number")
            case ast.Pass():
                return (), False
            case ast.Break() | ast.Continue() if scope.loops:
                return (p.Break() if isinstance(node, ast.Break) else p.Continue(),), True
            case ast.Expr(value=ast.Constant(value=str())):
                return (), False
            case ast.Import() | ast.ImportFrom():
                raise self.stop("import", node, f"`{_snippet(node)}` inside a function")
            case _:
                raise self.stop("statement", node, f"{_kind(node)} is not in the language")

    def assign(self, name: str, target: ast.Name, value: ast.expr, scope: _Scope) -> tuple[p.Statement, ...]:
        self.local_name(name, target)
        expression = self.expression(value, scope)
        scope.assigned.add(name)
        return (p.Assign(name, expression),)

    def branch(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: _Scope
    ) -> tuple[tuple[p.Statement, ...], bool]:
        condition = self.expression(test, scope)
        before = set(scope.assigned)
        then, then_ends = self.block(body, scope)
        after_then = scope.assigned
        scope.assigned = set(before)
        otherwise, otherwise_ends = self.block(orelse, scope)
        if then_ends:
            pass  # only the other branch goes on
        elif otherwise_ends:
            scope.assigned = after_then
        else:
            scope.assigned &= after_then
        return (p.If(condition, then, otherwise),), then_ends and otherwise_ends and bool(orelse)

    def loop(self, node: ast.For, scope: _Scope) -> tuple[tuple[p.Statement, ...], bool]:
        if node.orelse:
            self.report("loop-else", node.orelse[0], "a loop with an else part")
        if not isinstance(node.target, ast.Name):
            raise self.stop("statement", node.target, "a loop counts with one plain name")
        start, stop, step = self.bounds(node.iter)
        name = node.target.id
        self.local_name(name, node.target)
        if scope.loops == grammar.DEEPEST_LOOPS:
            raise self.stop("loop-depth", node, "too many nested loops")
        before = set(scope.assigned)
        scope.assigned.add(name)
        scope.loops += 1
        body, _ = self.block(node.body, scope)
        scope.loops -= 1
        made = p.Loop(name, start, stop, step, body, (node.lineno, node.col_offset + 1))
        scope.assigned = before | {name} if made.trips else before
        return (made,), False

    def bounds(self, node: ast.expr) -> tuple[int, int, int]:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]) if 1 <= len(arguments) <= 3:
                values = [self.integer(argument) for argument in arguments]
            case _:
                raise self.stop("loop-bounds", node, "a loop goes over something other than range(...)")
        start, stop, step = {1: [0, *values, 1], 2: [*values, 1], 3: values}[len(values)]
        if step == 0:
            raise self.stop("loop-bounds", node, "the step of a range is 0")
        return start, stop, step

    def integer(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool) and abs(value) < 2**31:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if abs(value) < 2**31:
                return -value
            case _:
                raise self.stop("loop-bounds", node, f"the bound `{_snippet(node)}` is not an integer literal")

    # Expressions

    def expression(self, node: ast.expr, scope: _Scope) -> p.Expression:
        match node:
            case ast.Constant():
                return p.Number(self.number(node))
            case ast.Name(id=name):
                return self.name(name, node, scope)
            case ast.Attribute():
                return self.attribute(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operate(grammar.BINARY, op, self.each((left, right), scope), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self.operate(grammar.UNARY, op, self.each((operand,), scope), node)
            case ast.BoolOp(op=op, values=values):
                return self.operate(grammar.BOOLEAN, op, self.each(tuple(values), scope), node)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for comparison in ops:
                    if type(comparison) not in grammar.COMPARISONS:
                        raise self.stop("operator", node, f"the comparison `{_snippet(node)}`")
                operands = self.each((left, *comparators), scope)
                return p.Compare(tuple(grammar.COMPARISONS[type(o)] for o in ops), operands)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, then, otherwise = self.each((test, body, orelse), scope)
                return p.Choose(condition, then, otherwise)
            case ast.Call():
                return self.call(node, scope)
            case _:
                raise self.stop("expression", node, f"{_kind(node)} is not in the language")

    def each(self, nodes: tuple[ast.expr, ...], scope: _Scope) -> tuple[p.Expression, ...]:
        """All of them, even after one has failed, so that one reply names every fault."""
        made: list[p.Expression] = []
        for node in nodes:
            try:
                made.append(self.expression(node, scope))
            except _Stop:
                continue
        if len(made) < len(nodes):
            raise _Stop
        return tuple(made)

    def operate(
        self,
        table: Mapping[Any, grammar.Operation],
        op: ast.AST,
        operands: tuple[p.Expression, ...],
        node: ast.AST,
    ) -> p.Expression:
        operation = table.get(type(op))
        if operation is None:
            raise self.stop("operator", node, f"the operator of `{_snippet(node)}`")
        return p.Operate(operation.name, operands, _at(node))

    def number(self, node: ast.Constant) -> float:
        value = node.value
        if not isinstance(value, int | float):
            raise self.stop("constant", node, f"the constant `{_snippet(node)}`")
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if not abs(number) <= LARGEST:
            raise self.stop("constant", node, "a number too large for a float64")
        return number

    def name(self, name: str, node: ast.Name, scope: _Scope) -> p.Expression:
        argument = self.arguments.get(name)
        if argument is not None and scope.function == self.signature.function:
            if isinstance(argument, Scalar):
                return p.Read(name)
            raise self.stop("argument-use", node, f"{name!r} is not a number", self.readable(name))
        if name in self.parameters:
            return p.Parameter(name)
        return self.local(name, node, scope)

    def local(self, name: str, node: ast.AST, scope: _Scope) -> p.Expression:
        if name in scope.assigned:
            return p.Local(name)
        if name in scope.seen:
            raise self.stop("unassigned", node, f"{name!r} may be used before it is assigned")
        known = [*scope.seen, *self.parameters, *self.arguments, *self.helpers]
        raise self.stop("name", node, f"{name!r} is not defined{nearest(name, known)}")

    def readable(self, name: str) -> str:
        argument = self.arguments[name]
        if isinstance(argument, History) and self.signature.entity is not None:
            key = f"{argument.entity}.{self.signature.entity.key}"
            return "ask it: " + ", ".join(f"{name}.{query}({key})" for query in grammar.HISTORY_QUERIES)
        return "read one of " + ", ".join(f for f in self.features if f.startswith(name + "."))

    def attribute(self, node: ast.Attribute) -> p.Expression:
        dotted = _dotted(node)
        if dotted in grammar.CONSTANTS:
            return p.Number(grammar.CONSTANTS[dotted])
        if dotted in self.features:
            return p.Read(dotted)
        owner = dotted.partition(".")[0]
        if owner == "math":
            known = ", ".join((*grammar.CONSTANTS, *(n for n in grammar.FUNCTIONS if n.startswith("math."))))
            raise self.stop(
                "function", node, f"`{_snippet(node)}` is not in the language", f"of math there are {known}"
            )
        if owner in self.arguments:
            spelled = nearest(dotted, self.features)
            raise self.stop("feature", node, f"`{_snippet(node)}` is not declared{spelled}", self.readable(owner))
        raise self.stop("expression", node, f"`{_snippet(node)}` is not in the language")

    def call(self, node: ast.Call, scope: _Scope) -> p.Expression:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.report("call", node, f"`{_snippet(node)}` passes arguments otherwise than by position")
            raise _Stop
        name = _dotted(node.func)
        if name in grammar.FUNCTIONS:
            operation = grammar.FUNCTIONS[name]
            least, most = operation.arguments
            if len(node.args) < least or (most is not None and len(node.args) > most):
                raise self.stop(
                    "call",
                    node,
                    f"`{_snippet(node)}`: wrong number of arguments",
                    f"write {operation.syntax}",
                )
            return p.Operate(operation.name, self.each(tuple(node.args), scope), _at(node))
        if name in self.helpers:
            self.calls.setdefault(scope.function, []).append((name, node))
            wanted = len(self.helpers[name].args.args)
            if len(node.args) != wanted:
                raise self.stop("call", node, f"{name!r} takes {wanted} arguments, not {len(node.args)}")
            return p.Call(name, self.each(tuple(node.args), scope), _at(node))
        if name == self.signature.function:
            raise self.stop("recursion", node, f"{name!r} is called by the program itself")
        owner, _, method = name.rpartition(".")
        head = name.partition(".")[0]
        offered = self.signature.entity is not None and scope.function == self.signature.function
        if offered and owner and head in self.arguments:
            if isinstance(self.arguments[head], History):
                return self.query(owner, method, node)
            return self.statistic(owner, method, node)
        known = nearest(name, [*grammar.FUNCTIONS, *self.helpers])
        raise self.stop("function", node, f"`{_snippet(node.func)}` is not a function of the language{known}")

    def query(self, owner: str, query: str, node: ast.Call) -> p.Expression:
        argument = self.arguments.get(owner)
        entity = self.signature.entity
        if not isinstance(argument, History) or entity is None or query not in grammar.HISTORY_QUERIES:
            raise self.stop("history", node, f"`{_snippet(node)}`", self.readable(owner.partition(".")[0]))
        if len(node.args) != 1 or _dotted(node.args[0]) != f"{argument.entity}.{entity.key}":
            raise self.stop(
                "history",
                node,
                f"`{_snippet(node)}` asks about something other than {argument.entity}.{entity.key}",
            )
        return p.Query(owner, query)

    def statistic(self, owner: str, method: str, node: ast.Call) -> p.Expression:
        offered = self.statistics()
        kind = offered.get(method)
        if kind is None:
            raise self.stop(
                "statistic", node, f"`{_snippet(node)}` is not a statistic{nearest(method, offered)}",
                "there are " + ", ".join(map(self.spell_statistic, offered.values())),
            )  # fmt: skip
        feature = self.statistic_feature(owner, kind)
        if feature is None:
            raise self.stop(
                "statistic",
                node,
                f"`{_snippet(node)}`: {method} is not offered there",
                f"write {self.spell_statistic(kind)}",
            )
        argument = self.literal(node.args[0]) if len(node.args) == 1 else None
        if argument is None or not kind.low <= argument <= kind.high:
            raise self.stop(
                "statistic-argument", node, f"`{_snippet(node)}`",
                f"write {kind.argument} as a number from {kind.low:g} to {kind.high:g}",
            )  # fmt: skip
        return p.Statistic(method, feature, argument)

    def statistics(self) -> dict[str, grammar.StatisticKind]:
        """Those that the task offers: of a population only where it names one."""
        entity = self.signature.entity
        has_population = entity is not None and entity.population is not None
        return {n: k for n, k in grammar.STATISTICS.items() if k.scope == "entity" or has_population}

    def statistic_feature(self, owner: str, kind: grammar.StatisticKind) -> str | None:
        """The entity's feature that the statistic is of, or None where it is not offered on `owner`."""
        entity = self.signature.entity
        head, _, name = owner.partition(".")
        if entity is None or name == entity.key or name not in {f.name for f in entity.features}:
            return None
        where = entity.name if kind.scope == "entity" else entity.population
        return f"{entity.name}.{name}" if head == where else None

    def spell_statistic(self, kind: grammar.StatisticKind) -> str:
        entity = self.signature.entity
        return kind.syntax.format(
            entity=entity.name if entity else "entity",
            population=entity.population if entity else "population",
            feature="FEATURE",
        )

    def literal(self, node: ast.expr) -> float | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return float(node.value) if abs(node.value) < 2**53 else None
        return None

    # The call graph

    def helper_order(self) -> list[str]:
        """Helpers, those called before those that call them; reports recursion."""
        order: list[str] = []
        state: dict[str, str] = {}

        def visit(name: str) -> None:
            state[name] = "open"
            for callee, node in self.calls.get(name, []):
                if state.get(callee) == "open":
                    self.report(
                        "recursion",
                        node,
                        f"{callee!r} calls itself" + (f" through {name!r}" if callee != name else ""),
                    )
                elif callee not in state:
                    visit(callee)
            state[name] = "done"
            order.append(name)

        for name in self.helpers:
            if name not in state:
                visit(name)
        return order

    def reachable(self) -> set[str]:
        found: set[str] = set()
        pending = [self.signature.function]
        while pending:
            for callee, _ in self.calls.get(pending.pop(), []):
                if callee not in found:
                    found.add(callee)
                    pending.append(callee)
        return found


def _stored_names(node: ast.stmt) -> set[str]:
    """Every name that the statement, or a statement inside it, assigns."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _may_leave(node: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return | ast.Break | ast.Continue) for n in ast.walk(node))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes on a name; an empty string for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _at(node: ast.AST) -> p.Position:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1


def _snippet(node: ast.AST) -> str:
    try:
        text = ast.unparse(node).partition("\n")[0]
    except ValueError:  # an integer of more digits than Python prints, or an f-string that it cannot write back
        return _kind(node).strip("`")
    return text if len(text) <= 60 else text[:57] + "..."


_KINDS: dict[type[ast.AST], str] = {
    ast.While: "`while`",
    ast.Lambda: "`lambda`",
    ast.ClassDef: "a class",
    ast.FunctionDef: "a function inside a function",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Try: "`try`",
    ast.With: "`with`",
    ast.Raise: "`raise`",
    ast.Assert: "`assert`",
    ast.Delete: "`del`",
    ast.Subscript: "a subscript",
    ast.NamedExpr: "`:=`",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Assign: "an assignment to anything but one plain name",
    ast.Expr: "an expression whose value is not used",
    ast.Break: "`break` outside a loop",
    ast.Continue: "`continue` outside a loop",
}


def _kind(node: ast.AST) -> str:
    return _KINDS.get(type(node), f"{type(node).__name__.lower()}")
