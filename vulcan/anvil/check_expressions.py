"""The checker's expression half: uses the grammar table and the declarations of the task's signature."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.parse import dotted, kind_of, position, snippet
from vulcan.anvil.rejection import violation
from vulcan.anvil.semantics import MAX
from vulcan.documents.policy import Remark
from vulcan.errors import did_you_mean
from vulcan.task import Event, Feature, History, Scalar, Signature


class Stop(Exception):
    """A part of the tree that cannot be understood; its violation is already recorded."""


@dataclass
class Scope:
    """One function's names, and those that are assigned on every path so far."""

    function: str
    assigned: set[str]
    seen: set[str] = field(default_factory=set)
    loops: int = 0
    draws: list[ir.Assign] = field(default_factory=list)
    """Random numbers that the statement at hand draws, each assigned to a name of its own before it."""
    drawn: int = 0


class ExpressionChecker:
    """Checker of expressions, with the module's known names and the violations found so far."""

    def __init__(
        self,
        signature: Signature,
        others: Sequence[Signature],
        events: Sequence[Event],
        choices: Mapping[str, Sequence[str]],
    ) -> None:
        self.decisions = (signature, *others)
        self.events = {declared.function: declared for declared in events}
        self.signatures = {declared.function: declared for declared in (*self.decisions, *events)}
        self.variables: dict[str, ir.Variable] = {}
        self.reserved: frozenset[str] = frozenset()
        """Names that the language takes only in programs that use state."""
        self.every_argument = {a.name: a for declared in self.signatures.values() for a in declared.arguments}
        self.violations: list[Remark] = []
        self.parameters: dict[str, float] = {}
        self.choices = choices
        self.chosen: dict[str, str] = {}
        self.helpers: dict[str, ast.FunctionDef] = {}
        self.calls: dict[str, list[tuple[str, ast.AST]]] = {}
        self.look_from(signature)

    def look_from(self, signature: Signature) -> None:
        """Set the task's function whose arguments the following code (its body, or a helper's) can read."""
        self.signature = signature
        self.arguments = {argument.name: argument for argument in signature.arguments}
        self.features: dict[str, Feature] = dict(signature.features())

    def report(self, rule: str, node: ast.AST | None, message: str, hint: str | None = None) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        self.violations.append(violation(rule, line, column, message, hint))

    def stop(self, rule: str, node: ast.AST | None, message: str, hint: str | None = None) -> Stop:
        self.report(rule, node, message, hint)
        return Stop()

    def expression(self, node: ast.expr, scope: Scope) -> ir.Expression:
        match node:
            case ast.Constant():
                return ir.Number(self.number(node))
            case ast.Name(id=name):
                return self.name(name, node, scope)
            case ast.Attribute():
                return self.attribute(node, scope)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operate(grammar.BINARY, op, self.each((left, right), scope), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self.operate(grammar.UNARY, op, self.each((operand,), scope), node)
            case ast.BoolOp(op=op, values=values):
                return self.operate(grammar.BOOLEAN, op, self.each(tuple(values), scope), node)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for comparison in ops:
                    if type(comparison) not in grammar.COMPARISONS:
                        raise self.stop("operator", node, f"the comparison `{snippet(node)}`")
                operands = self.each((left, *comparators), scope)
                return ir.Compare(tuple(grammar.COMPARISONS[type(o)] for o in ops), operands, position(node))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, then, otherwise = self.each((test, body, orelse), scope)
                return ir.Choose(condition, then, otherwise, position(node))
            case ast.Call():
                return self.call(node, scope)
            case ast.Subscript(value=array, slice=index) if self.variable(array) is not None:
                declared = self.array(array, scope)
                return ir.Element(declared.name, self.expression(index, scope), position(node))
            case _:
                raise self.stop("expression", node, f"{kind_of(node)} is not in the language")

    def variable(self, node: ast.expr) -> ir.Variable | None:
        """Return the declared state that the node reads or writes, if any."""
        return self.variables.get(dotted(node)) if isinstance(node, ast.Attribute) else None

    def cell(self, node: ast.expr, scope: Scope) -> ir.Variable:
        """Return the register or field of the node, which must name one."""
        declared = self.variable(node)
        assert declared is not None
        if declared.length is not None:
            raise self.stop("state", node, f"`{snippet(node)}` is an array", f"write {declared.name}[i]")
        if declared.is_field:
            self.visible(declared.name, node, scope)
            if declared.name.partition(".")[0] not in self.arguments:
                raise self.stop("name", node, f"{scope.function!r} is not shown `{snippet(node)}`")
        return declared

    def array(self, node: ast.expr, scope: Scope) -> ir.Variable:
        """Return the array of the node, which must name one."""
        declared = self.variable(node)
        assert declared is not None
        if declared.length is None:
            raise self.stop("state", node, f"`{snippet(node)}` is one number, not an array")
        return declared

    def each(self, nodes: tuple[ast.expr, ...], scope: Scope) -> tuple[ir.Expression, ...]:
        """Check all of them, even after one has failed, so that one reply names every fault."""
        made: list[ir.Expression] = []
        for node in nodes:
            try:
                made.append(self.expression(node, scope))
            except Stop:
                continue
        if len(made) < len(nodes):
            raise Stop
        return tuple(made)

    def operate(
        self,
        table: Mapping[Any, grammar.Operation],
        op: ast.AST,
        operands: tuple[ir.Expression, ...],
        node: ast.AST,
    ) -> ir.Expression:
        operation = table.get(type(op))
        if operation is None:
            raise self.stop("operator", node, f"the operator of `{snippet(node)}`")
        return ir.Operate(operation.name, operands, position(node))

    def number(self, node: ast.Constant) -> float:
        value = node.value
        if not isinstance(value, int | float):
            raise self.stop("constant", node, f"the constant `{snippet(node)}`")
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if not abs(number) <= MAX:
            raise self.stop("constant", node, "a number too large for a float64")
        return number

    def name(self, name: str, node: ast.Name, scope: Scope) -> ir.Expression:
        argument = self.arguments.get(name)
        if argument is not None and scope.function == self.signature.function:
            if isinstance(argument, Scalar):
                return ir.Read(name, position(node))
            raise self.stop("argument-use", node, f"{name!r} is not a number", self.readable(name))
        if name in self.parameters:
            return ir.Parameter(name)
        return self.local(name, node, scope)

    def local(self, name: str, node: ast.AST, scope: Scope) -> ir.Expression:
        if name in scope.assigned:
            return ir.Local(name)
        if name in scope.seen:
            raise self.stop("unassigned", node, f"{name!r} may be used before it is assigned")
        self.own(name, node, scope)
        known = [*scope.seen, *self.parameters, *self.arguments, *self.helpers]
        raise self.stop("name", node, f"{name!r} is not defined{did_you_mean(name, known)}")

    def readable(self, name: str) -> str:
        argument = self.arguments[name]
        if isinstance(argument, History) and self.signature.entity is not None:
            key = f"{argument.entity}.{self.signature.entity.key}"
            return "ask it: " + ", ".join(f"{name}.{query}({key})" for query in grammar.HISTORY_QUERIES)
        return "read one of " + ", ".join(f for f in self.features if f.startswith(name + "."))

    def annotation(self, node: ast.expr) -> None:
        if not (isinstance(node, ast.Name) and node.id in ("int", "float", "bool")):
            self.report("annotation", node, f"the annotation `{snippet(node)}`")

    def signed(self, value: ast.expr) -> float | None:
        """Return a number, with any signs before it; None for anything else."""
        sign = 1.0
        while isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub | ast.UAdd):
            sign = -sign if isinstance(value.op, ast.USub) else sign
            value = value.operand
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            return sign * self.number(value)
        return None

    def attribute(self, node: ast.Attribute, scope: Scope) -> ir.Expression:
        name = dotted(node)
        if name in grammar.CONSTANTS:
            return ir.Number(grammar.CONSTANTS[name])
        if name in self.variables:
            return ir.Cell(self.cell(node, scope).name, position(node))
        self.visible(name, node, scope)
        if name in self.features:
            return ir.Read(name, position(node))
        handled = self.events.get(scope.function)
        if handled is not None and name in handled.settable:
            hint = "assign the number to a name first, and read that"
            raise self.stop("feature", node, f"`{snippet(node)}` is there to be set, and cannot be read", hint)
        owner = name.partition(".")[0]
        if owner == "math":
            known = ", ".join((*grammar.CONSTANTS, *(n for n in grammar.FUNCTIONS if n.startswith("math."))))
            raise self.stop("function", node, f"`{snippet(node)}` is not in the language", f"of math there are {known}")
        if owner == ir.STATE and self.events and owner not in self.arguments:
            spelled = did_you_mean(name, self.variables)
            raise self.stop("state", node, f"`{snippet(node)}` is not declared{spelled}")
        if owner in self.arguments:
            spelled = did_you_mean(name, [*self.features, *self.variables])
            raise self.stop("feature", node, f"`{snippet(node)}` is not declared{spelled}", self.readable(owner))
        raise self.stop("expression", node, f"`{snippet(node)}` is not in the language")

    def visible(self, name: str, node: ast.AST, scope: Scope) -> None:
        """Raise Stop where a helper reads an argument of a function that the task names."""
        head = name.partition(".")[0]
        if head in self.every_argument and scope.function not in self.signatures:
            hint = f"give {scope.function!r} an argument for the number, and pass it when calling"
            raise self.stop("name", node, f"{head!r} is not known in the helper {scope.function!r}", hint)
        self.own(head, node, scope)

    def own(self, name: str, node: ast.AST, scope: Scope) -> None:
        """Raise Stop where a function that the task names reads an argument that only another one has."""
        if scope.function in self.signatures and name in self.every_argument and name not in self.arguments:
            hint = f"{scope.function!r} is shown {', '.join(self.arguments) or 'nothing'}, and no more"
            raise self.stop("name", node, f"{name!r} is not an argument of {scope.function!r}", hint)

    def call(self, node: ast.Call, scope: Scope) -> ir.Expression:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.report("call", node, f"`{snippet(node)}` passes arguments otherwise than by position")
            raise Stop
        name = dotted(node.func)
        if name == grammar.RANDOM and self.events and name not in self.helpers:
            return self.draw(node, scope)
        operation = grammar.FUNCTIONS.get(name) or (grammar.STATE_FUNCTIONS.get(name) if self.events else None)
        if operation is not None and name not in self.helpers:
            least, most = operation.arguments
            if len(node.args) < least or (most is not None and len(node.args) > most):
                raise self.stop(
                    "call",
                    node,
                    f"`{snippet(node)}`: wrong number of arguments",
                    f"write {operation.syntax}",
                )
            return ir.Operate(operation.name, self.each(tuple(node.args), scope), position(node))
        if name in self.helpers:
            self.calls.setdefault(scope.function, []).append((name, node))
            wanted = len(self.helpers[name].args.args)
            if len(node.args) != wanted:
                raise self.stop("call", node, f"{name!r} takes {wanted} arguments, not {len(node.args)}")
            return ir.Call(name, self.each(tuple(node.args), scope), position(node))
        if name in self.signatures:
            if len(self.signatures) > 1 and name != scope.function:
                hint = "put what several functions need into a helper, and call that"
                raise self.stop("function", node, f"{name!r} is a function that the task calls, not the policy", hint)
            raise self.stop("recursion", node, f"{name!r} is called by the program itself")
        owner, _, method = name.rpartition(".")
        head = name.partition(".")[0]
        self.visible(name, node, scope)
        if owner and head in self.arguments:
            if isinstance(self.arguments[head], History):
                return self.query(owner, method, node)
            return self.statistic(owner, method, node, scope)
        known = did_you_mean(name, [*grammar.FUNCTIONS, *self.helpers])
        raise self.stop("function", node, f"`{snippet(node.func)}` is not a function of the language{known}")

    def draw(self, node: ast.Call, scope: Scope) -> ir.Expression:
        """Draw a random number before the statement at hand, and return the name that it is given."""
        if node.args:
            raise self.stop("call", node, f"`{snippet(node)}`: {grammar.RANDOM}() takes no argument")
        if scope.function not in self.events:
            raise self.stop("random", node, f"`{snippet(node)}` in {scope.function!r}, which handles no event")
        name = ""
        while not name or name in scope.seen or name in self.reserved_anywhere():
            scope.drawn += 1
            name = f"{grammar.RANDOM}_{scope.drawn}"
        scope.draws.append(ir.Assign(name, ir.Draw(position(node)), position(node)))
        scope.assigned.add(name)
        return ir.Local(name)

    def reserved_anywhere(self) -> set[str]:
        """Return the names of the module, which no local may have."""
        return {*self.parameters, *self.helpers, *self.every_argument, *self.signatures}

    def query(self, owner: str, query: str, node: ast.Call) -> ir.Expression:
        argument = self.arguments.get(owner)
        entity = self.signature.entity
        if not isinstance(argument, History) or entity is None or query not in grammar.HISTORY_QUERIES:
            raise self.stop("history", node, f"`{snippet(node)}`", self.readable(owner.partition(".")[0]))
        if len(node.args) != 1 or dotted(node.args[0]) != f"{argument.entity}.{entity.key}":
            raise self.stop(
                "history",
                node,
                f"`{snippet(node)}` asks about something other than {argument.entity}.{entity.key}",
            )
        return ir.Query(owner, query)

    def statistic(self, owner: str, method: str, node: ast.Call, scope: Scope) -> ir.Expression:
        kind = grammar.STATISTICS.get(method)
        if kind is None:
            raise self.stop(
                "statistic", node, f"`{snippet(node)}` is not a statistic{did_you_mean(method, grammar.STATISTICS)}",
                "there are " + self.offered(),
            )  # fmt: skip
        found = self.observed(owner, kind)
        if found is None:
            spelled = [f"{owner}.{kind.short}" for owner in self.owners(kind)]
            hint = "write " + " or ".join(spelled) if spelled else None
            raise self.stop("statistic", node, f"`{snippet(node)}`: {method} is not offered there", hint)
        feature, where = found
        literals = node.args[kind.looks_for :]
        arguments = tuple(
            self.literal(literal, argument, where) for literal, argument in zip(literals, kind.arguments, strict=False)
        )
        if len(node.args) != kind.looks_for + len(kind.arguments) or None in arguments:
            wanted = [f"{a.name} from {a.low:g} to {a.most(where):g}" for a in kind.arguments]
            written = f"write {owner}.{kind.short}"
            hint = (
                f"{written}, with a number for {' and for '.join(wanted)}"
                if wanted
                else f"{written}, without arguments"
            )
            raise self.stop("statistic-argument", node, f"`{snippet(node)}`", hint)
        exact = tuple(a for a in arguments if a is not None)
        made = ir.Statistic(method, where, feature, exact, position(node))
        if kind.looks_for:
            (value,) = self.each((node.args[0],), scope)
            return ir.Occurrences(made, value, position(node))
        return made

    def observed(self, owner: str, kind: grammar.StatisticKind) -> tuple[str, grammar.Scope] | None:
        """Return the feature of a statistic on `owner`, and its scope; None where it is not offered there."""
        entity = self.signature.entity
        head, _, name = owner.partition(".")
        if owner in self.features and (entity is None or head != entity.name):
            return (owner, "system") if "system" in kind.scopes else None
        if entity is None or name not in {f.name for f in entity.features}:
            return None
        feature = f"{entity.name}.{name}"
        if name == entity.key:  # an identifier can only be looked for
            return (feature, "system") if kind.looks_for and head == entity.population else None
        if head == entity.name:
            return (feature, "entity") if "entity" in kind.scopes else None
        if head == entity.population:
            return feature, "population" if "population" in kind.scopes else "system"
        return None

    def offered(self) -> str:
        """List every statistic, with the owners that this task offers it on."""
        kinds: dict[str, list[str]] = {}
        for kind in grammar.STATISTICS.values():
            if owners := self.owners(kind):
                kinds.setdefault(" and ".join(owners), []).append(kind.short)
        return "; ".join(f"{', '.join(names)} of {owners}" for owners, names in kinds.items())

    def owners(self, kind: grammar.StatisticKind) -> list[str]:
        """Return the owners that this task offers the statistic on, at most two."""
        entity = self.signature.entity
        scalars = [a.name for a in self.signature.arguments if isinstance(a, Scalar)]
        groups = {name.partition(".")[0] for name in self.features} - {*scalars} - ({entity.name} if entity else set())
        has_population = entity is not None and entity.population in self.arguments
        if entity is not None and entity.population and has_population:
            groups.add(entity.population)
        owners = [f"{group}.FEATURE" for group in sorted(groups)] + scalars if "system" in kind.scopes else []
        if entity is not None and "entity" in kind.scopes:
            owners.insert(0, f"{entity.name}.FEATURE")
        if entity is not None and has_population and "population" in kind.scopes:
            owners.append(f"{entity.population}.FEATURE")
        return owners[:2]

    def literal(self, node: ast.expr, argument: grammar.StatisticArgument, scope: grammar.Scope) -> float | None:
        """Return a statistic's literal argument; None where it is not a number, or out of its bounds."""
        if (
            not isinstance(node, ast.Constant)
            or not isinstance(node.value, int | float)
            or isinstance(node.value, bool)
        ):
            return None
        value = node.value
        if not argument.low <= value <= argument.most(scope) or (argument.whole and value != int(value)):
            return None
        return float(value)
