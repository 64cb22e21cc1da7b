"""The checker's state half: declarations of registers, arrays and fields, and their writes in handlers of events."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from vulcan.anvil import ir
from vulcan.anvil.check_expressions import ExpressionChecker, Scope, Stop
from vulcan.anvil.grammar import grammar
from vulcan.anvil.parse import dotted, kind_of, position, snippet, within
from vulcan.anvil.rejection import Rejected, violation
from vulcan.errors import did_you_mean
from vulcan.task import Entity, Event, StateLimits


class StateChecker(ExpressionChecker):
    """Checker of state, with that which the module has declared so far."""

    def declarations(self, node: ast.ClassDef) -> None:
        """Read the class that declares registers and arrays, or that of the entity's fields."""
        entity = next((a.name for a in self.every_argument.values() if isinstance(a, Entity)), None)
        if node.name not in (ir.STATE, entity) or node.bases or node.keywords or node.decorator_list:
            known = f"`class {ir.STATE}:`" + (f" and `class {entity}:`" if entity else "")
            message, hint = f"`{snippet(node)}` declares nothing here", f"state is declared in {known}"
            self.report("state", node, message, f"{hint}, with nothing behind the name")
            return
        if any(name.partition(".")[0] == node.name for name in self.variables):
            self.report("shadowing", node, f"the class {node.name!r} is there twice")
        for statement in node.body:
            match statement:
                case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.declared(node.name, name, value, statement)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                    self.annotation(annotation)
                    self.declared(node.name, name, value, statement)
                case _:
                    self.report("state", statement, f"{kind_of(statement)} in `class {node.name}`")

    def declared(self, owner: str, name: str, value: ast.expr, node: ast.stmt) -> None:
        full = f"{owner}.{name}"
        if full in self.variables or any(full in dict(s.features()) for s in self.signatures.values()):
            self.report("shadowing", node, f"`{full}` is taken")
        length: int | None = None
        match value:
            case ast.BinOp(left=ast.List(elts=[element]), op=ast.Mult(), right=ast.Constant(value=int() as length)):
                value = element
                if owner != ir.STATE:
                    self.report("state", node, f"`{full}` is an array", f"declare arrays in `class {ir.STATE}:`")
                if isinstance(length, bool) or length < 1:
                    self.report("state", node, f"the array `{full}` has no element")
            case _:
                pass
        initial: ir.Number | ir.Parameter = ir.Number(0.0)
        try:
            number = self.signed(value)
        except Stop:
            number = 0.0
        if number is not None:
            initial = ir.Number(number)
        elif isinstance(value, ast.Name) and value.id in self.parameters:
            initial = ir.Parameter(value.id)
        else:
            self.report("state", node, f"`{full}` starts with `{snippet(value)}`")
        self.variables[full] = ir.Variable(full, initial, length)

    def change(
        self, target: ast.Attribute | ast.Subscript, op: ast.operator, value: ast.expr, scope: Scope
    ) -> tuple[ir.Statement, ...]:
        """Return an augmented assignment to state; its index is computed once."""
        index = self.expression(target.slice, scope) if isinstance(target, ast.Subscript) else None
        if index is None:
            old = self.expression(target, scope)
        elif self.variable(target.value) is None:
            raise self.undeclared(target)
        else:
            old = ir.Element(self.array(target.value, scope).name, index, position(target))
        new = self.operate(grammar.BINARY, op, (old, self.expression(value, scope)), target)
        return self.store(target, index, new, scope)

    def assign_state(
        self, target: ast.Attribute | ast.Subscript, value: ast.expr, scope: Scope
    ) -> tuple[ir.Statement, ...]:
        """Return an assignment to state or to a control of the event."""
        new = self.expression(value, scope)
        index = self.expression(target.slice, scope) if isinstance(target, ast.Subscript) else None
        return self.store(target, index, new, scope)

    def store(
        self, target: ast.Attribute | ast.Subscript, index: ir.Expression | None, value: ir.Expression, scope: Scope
    ) -> tuple[ir.Statement, ...]:
        """Return the write, which only a handler of an event may do."""
        node = target.value if isinstance(target, ast.Subscript) else target
        name = dotted(node)
        handled = self.events.get(scope.function)
        controls = handled.settable if handled else {}
        if name in controls and index is None:
            return (ir.Write(name, value, None, position(target)),)
        if name not in self.variables:
            raise self.undeclared(target, controls)
        if handled is None:
            raise self.stop("state-write", target, f"{scope.function!r} writes `{snippet(target)}`")
        declared = self.cell(node, scope) if index is None else self.array(node, scope)
        return (ir.Write(declared.name, value, index, position(target)),)

    def undeclared(self, target: ast.expr, controls: Iterable[str] = ()) -> Stop:
        node = target.value if isinstance(target, ast.Subscript) else target
        owner = dotted(node).partition(".")[0]
        if any(dotted(node) in dict(s.features()) for s in self.signatures.values()):
            is_entity = isinstance(self.every_argument.get(owner), Entity)
            where = f"{owner}:` or `class {ir.STATE}" if is_entity else ir.STATE
            hint = f"only state can be written: declare what is to change in `class {where}:`, under another name"
            return self.stop("state", target, f"`{snippet(target)}` is shown by the task and cannot be set", hint)
        spelled = did_you_mean(dotted(node), [*self.variables, *controls])
        return self.stop("state", target, f"`{snippet(target)}` is not declared{spelled}")

    def is_handler_of_no_event(self, node: ast.FunctionDef) -> bool:
        """Whether a function is named as events are, and takes arguments of the task as no helper may."""
        takes = any(a.arg in self.every_argument for a in node.args.args)
        return bool(self.events) and takes and node.name.startswith("on_")


RETURN_NOTHING = ir.Return(ir.Number(0.0))


def drawn(draws: list[ir.Assign], statement: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return a statement behind the random numbers that it draws; one that only assigns one draws it itself."""
    match draws, statement:
        case [ir.Assign(drawn, value)], (ir.Assign(name, ir.Local(read), at),) if drawn == read:
            return (ir.Assign(name, value, at),)
    return (*draws, *statement)


def reserved_names(tree: ast.Module, events: Mapping[str, Event]) -> frozenset[str]:
    """Return the names that state takes, if the module has any: others may use them as before."""
    names = frozenset((ir.STATE, grammar.RANDOM, *grammar.STATE_FUNCTIONS))
    called = {dotted(n.func) for n in within(tree) if isinstance(n, ast.Call)}
    uses_state = any(
        isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and node.name in events)
        for node in tree.body
    )
    return names if events and uses_state else names & called if events else frozenset()


def check_state_limits(program: ir.Module, tree: ast.Module, limits: StateLimits) -> None:
    """Check the amount of state. Raises Rejected."""
    registers = [v for v in program.variables if not v.is_field and v.length is None]
    elements = sum(v.length or 0 for v in program.variables)
    fields = [v for v in program.variables if v.is_field]
    for count, most, what in (
        (len(registers), limits.registers, "registers"),
        (elements, limits.elements, "elements of arrays"),
        (len(fields), limits.fields, "fields of an entity"),
    ):
        if count > most:
            at = next(position(node) for node in tree.body if isinstance(node, ast.ClassDef))
            message = f"the policy has {count:,} {what}, over the limit of {most:,}"
            raise Rejected((violation("state-limit", *at, message),))
