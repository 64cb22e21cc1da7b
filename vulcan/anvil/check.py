"""The checker: turns a syntax tree into a program, or rejects it with a list of located violations.

It accepts by the grammar table and a task's signatures; everything else is rejected.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from vulcan.anvil import ir
from vulcan.anvil.check_expressions import Scope, Stop
from vulcan.anvil.check_state import RETURN_NOTHING, StateChecker, check_state_limits, drawn, reserved_names
from vulcan.anvil.grammar import grammar
from vulcan.anvil.parse import is_docstring, kind_of, may_leave, position, reachable, snippet, stored_names
from vulcan.anvil.rejection import Rejected, violation
from vulcan.errors import did_you_mean
from vulcan.task import MECHANISM, Event, Signature, StateLimits, Task

_MAX_VIOLATIONS = 10


def check_tree(
    tree: ast.Module,
    signature: Signature,
    others: Sequence[Signature] = (),
    events: Sequence[Event] = (),
    state_limits: StateLimits | None = None,
    choices: Mapping[str, Sequence[str]] | None = None,
) -> ir.Module:
    """Return the program of a syntax tree, which must define the signature's function and the `others`.

    It may define handlers of the `events`, have state within the limits, and say which of the `choices` it takes.
    Raises Rejected, with as many violations as could be found at once.
    """
    program = _Checker(signature, others, events, choices or {}).module(tree)
    check_state_limits(program, tree, state_limits or StateLimits())
    return program


def task_of(tree: ast.Module, task: Task) -> Task:
    """Return the task of a module's policy, by the mechanism that it names and the optional functions that it defines.

    Raises Rejected for a function of another mechanism.
    """
    whole = task.whole or task
    named = [
        node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if any(isinstance(target, ast.Name) and target.id == MECHANISM for target in node.targets)
    ]
    known = [name for name in whole.mechanisms if name in named] or whole.mechanisms[:1]
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    own = whole.of_policy(known[0] if known else "", defined.keys())
    expected = {declared.function for declared in (*own.functions, *own.events)}
    for name, node in defined.items():
        if name not in expected and (others := _mechanisms_of(name, whole)):
            says = " or ".join(f'"{other}"' for other in others)
            raise Rejected(
                (
                    violation(
                        "no-function",
                        node.lineno,
                        node.col_offset + 1,
                        f"{name!r} is of the mechanism {says}, and this policy's is {known[0]!r}",
                        f"leave it out, or write {MECHANISM} = {says} and define what that mechanism uses",
                    ),
                )
            )
    return own


def _mechanisms_of(function: str, whole: Task) -> list[str]:
    """Return the mechanisms whose policies may define the function or handle the event of that name."""
    variants = [(name, whole.of_policy(name)) for name in whole.mechanisms]
    return [name for name, of in variants if function in [each.function for each in (*of.functions, *of.events)]]


class _Checker(StateChecker):
    def module(self, tree: ast.Module) -> ir.Module:
        entries: dict[str, ast.FunctionDef] = {}
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.every_argument = {
            argument.name: argument
            for declared in self.signatures.values()
            if declared.function in defined or declared in self.decisions
            for argument in declared.arguments
        }
        self.reserved = reserved_names(tree, self.events)
        for index, node in enumerate(tree.body):
            match node:
                case ast.Expr(value=ast.Constant(value=str())) if index == 0:
                    pass
                case ast.Import(names=[ast.alias(name="math", asname=None)]):
                    pass
                case ast.ImportFrom(module=grammar.STATE_MODULE, names=names, level=0) if self.events and all(
                    a.asname is None and a.name in grammar.STATE_IMPORTS for a in names
                ):
                    pass
                case ast.Import() | ast.ImportFrom():
                    self.report("import", node, f"`{snippet(node)}` is not allowed")
                case ast.ClassDef() if self.events:
                    self.declarations(node)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.parameter(name, value, node)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                    self.annotation(annotation)
                    self.parameter(name, value, node)
                case ast.FunctionDef(name=name):
                    if name in self.helpers or name in entries:
                        self.report("shadowing", node, f"function {name!r} is defined twice")
                    elif name in self.signatures:
                        entries[name] = node
                    elif self.is_handler_of_no_event(node):
                        known = f"the events are {', '.join(self.events)}"
                        self.report("no-function", node, f"no event {name!r}{did_you_mean(name, self.events)}", known)
                    else:
                        self.taken(name, node)
                        if name in self.parameters:
                            self.report("shadowing", node, f"{name!r} is a parameter and a function")
                        self.helpers[name] = node
                case _:
                    self.report("top-level", node, f"{kind_of(node)} at the top level")
        main, *others = self.decisions
        for declared in self.decisions:
            if declared.function not in entries:
                meant = self.of_other_name(declared)  # is not looked at as a helper, whose arguments would be taken
                first = meant or (tree.body[0] if tree.body else None)
                self.report("no-function", first, f"no function {_spelled(declared)}", self.also_missing(declared))
        functions = {name: self.function(node) for name, node in self.helpers.items()}
        made: dict[str, ir.Function | None] = {}
        for declared in (*self.decisions, *self.events.values()):
            if declared.function in entries:
                self.look_from(declared)
                made[declared.function] = self.function(entries[declared.function])
        order = self.helper_order()
        named = [f for declared in (*others, main) if (f := made.get(declared.function)) is not None]
        handlers = [f for name in self.events if (f := made.get(name)) is not None]
        if self.violations or len(named) < len(self.decisions):
            raise Rejected(tuple(self.violations[:_MAX_VIOLATIONS]))
        reached = reachable(self.signatures, lambda name: {callee for callee, _ in self.calls.get(name, ())})
        used = [name for name in order if name in reached]
        return ir.Module(
            parameters=tuple(self.parameters.items()),
            functions=(*(f for name in used if (f := functions[name]) is not None), *handlers, *named),
            documentation=ast.get_docstring(tree) or "",
            named=len(named),
            handled=len(handlers),
            variables=tuple(self.variables.values()),
            chosen=tuple(sorted(self.chosen.items())),
        )

    def of_other_name(self, declared: Signature) -> ast.FunctionDef | None:
        """Take out and return a function that has the arguments of the one declared, and another name."""
        arguments = [argument.name for argument in declared.arguments]
        named = [name for name, node in self.helpers.items() if [a.arg for a in node.args.args] == arguments]
        return self.helpers.pop(named[0]) if named else None

    def also_missing(self, declared: Signature) -> str | None:
        """Return the hint for one missing function of several."""
        if len(self.decisions) == 1:
            return None
        wanted = ", ".join(map(_spelled, self.decisions))
        return f"define {_spelled(declared)} too, in the same module: the task names {wanted}"

    def parameter(self, name: str, value: ast.expr, node: ast.AST) -> None:
        self.taken(name, node)
        if name in self.parameters or name in self.chosen:
            self.report("shadowing", node, f"parameter {name!r} is set twice")
            return
        if name in self.choices:
            self.choose(name, value, node)
            return
        if name in self.helpers:
            self.report("shadowing", node, f"{name!r} is a parameter and a function")
        try:
            number = self.signed(value)
        except Stop:
            number = 0.0  # so that its uses are not reported too
        if number is None:
            self.report("parameter", node, f"parameter {name!r} is not one number")
        self.parameters[name] = 0.0 if number is None else number

    def choose(self, name: str, value: ast.expr, node: ast.AST) -> None:
        known = self.choices[name]
        if isinstance(value, ast.Constant) and value.value in known:
            self.chosen[name] = str(value.value)
        else:
            hint = f"write {name} = " + " or ".join(f'"{choice}"' for choice in known)
            self.report("parameter", node, f"{name} = {snippet(value)} is not one of its choices", hint)

    def taken(self, name: str, node: ast.AST) -> None:
        known = (grammar.BUILT_IN_NAMES, self.every_argument, self.signatures, self.reserved)
        if any(name in names for names in known):
            self.report("shadowing", node, f"{name!r} is taken")

    # Functions

    def function(self, node: ast.FunctionDef) -> ir.Function | None:
        before = len(self.violations)
        names = self.function_arguments(node)
        scope = Scope(node.name, set() if node.name in self.signatures else set(names))
        scope.seen |= scope.assigned | stored_names(node)
        body = list(node.body)
        documentation = ast.get_docstring(node) or ""
        if documentation or is_docstring(body[0]):
            body = body[1:]
        statements, ends = self.block(body, scope)
        if not ends and node.name in self.events:
            statements = (*statements, RETURN_NOTHING)
        elif not ends:
            self.report("return", node, f"not every path through {node.name!r} ends in `return`")
        if len(self.violations) > before:
            return None
        return ir.Function(node.name, names, statements, documentation)

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
        if node.name in self.signatures:
            if names != tuple(self.arguments):
                self.report(
                    "arguments",
                    node,
                    f"the arguments of {node.name!r} are ({', '.join(names)})",
                    f"write {_spelled(self.signature)}",
                )
        else:
            for argument in spec.args:
                self.local_name(argument.arg, argument)
        return names

    def local_name(self, name: str, node: ast.AST, scope: Scope | None = None) -> None:
        self.taken(name, node)
        if name in self.parameters or name in self.helpers:
            hint = _kept_in_state(name) if scope and scope.function in self.events and name in self.parameters else None
            self.report("shadowing", node, f"{name!r} is a name of the module", hint)

    # Statements: each returns its IR, and whether it never falls through to the next

    def block(self, nodes: list[ast.stmt], scope: Scope) -> tuple[tuple[ir.Statement, ...], bool]:
        done: list[ir.Statement] = []
        ends = False
        for node in nodes:
            draws, scope.draws = scope.draws, []
            try:
                statement, stops = self.statement(node, scope)
                statement = drawn(scope.draws, statement)
            except Stop:
                scope.draws = draws
                scope.assigned |= stored_names(node)  # so that its uses are not reported too
                ends = ends or may_leave(node)  # nor a missing `return` after it
                continue
            scope.draws = draws
            if not ends:
                done.extend(statement)
            ends = ends or stops
        return tuple(done), ends

    def statement(self, node: ast.stmt, scope: Scope) -> tuple[tuple[ir.Statement, ...], bool]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                return self.assign(name, target, value, scope), False
            case ast.AnnAssign(target=ast.Name(id=name) as target, annotation=annotation, value=ast.expr() as value):
                self.annotation(annotation)
                return self.assign(name, target, value, scope), False
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self.local_name(name, target, scope)
                old = self.local(name, target, scope)
                new = self.operate(grammar.BINARY, op, (old, self.expression(value, scope)), node)
                return (ir.Assign(name, new, position(node)),), False
            case ast.If(test=test, body=body, orelse=orelse):
                return self.branch(test, body, orelse, scope, position(node))
            case ast.For():
                return self.loop(node, scope)
            case (
                ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target], value=value)
                | ast.AnnAssign(target=ast.Attribute() | ast.Subscript() as target, value=ast.expr() as value)
            ) if self.events:
                return self.assign_state(target, value, scope), False
            case ast.AugAssign(target=ast.Attribute() | ast.Subscript() as target, op=op, value=value) if self.events:
                return self.change(target, op, value, scope), False
            case ast.Return(value=None) if scope.function in self.events:
                return (RETURN_NOTHING,), True
            case ast.Return() if scope.function in self.events:
                raise self.stop("return", node, "an event handler returns nothing", "write `return` alone")
            case ast.Return(value=ast.expr() as value):
                return (ir.Return(self.expression(value, scope), position(node)),), True
            case ast.Return():
                raise self.stop("return", node, "`return` without a number")
            case ast.Pass():
                return (), False
            case ast.Break() | ast.Continue() if scope.loops:
                return (ir.Break() if isinstance(node, ast.Break) else ir.Continue(),), True
            case ast.Expr(value=ast.Constant(value=str())):
                return (), False
            case ast.Import() | ast.ImportFrom():
                raise self.stop("import", node, f"`{snippet(node)}` inside a function")
            case ast.Global(names=[name, *_]) if self.events:
                raise self.stop("statement", node, f"{kind_of(node)} is not in the language", _kept_in_state(name))
            case _:
                raise self.stop("statement", node, f"{kind_of(node)} is not in the language")

    def assign(self, name: str, target: ast.Name, value: ast.expr, scope: Scope) -> tuple[ir.Statement, ...]:
        self.local_name(name, target, scope)
        expression = self.expression(value, scope)
        scope.assigned.add(name)
        return (ir.Assign(name, expression, position(target)),)

    def branch(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: Scope, at: ir.Position
    ) -> tuple[tuple[ir.Statement, ...], bool]:
        condition = self.expression(test, scope)
        before = set(scope.assigned)
        then, then_ends = self.block(body, scope)
        after_then = scope.assigned
        scope.assigned = set(before)
        otherwise, otherwise_ends = self.block(orelse, scope)
        if then_ends:
            pass  # only the other branch falls through
        elif otherwise_ends:
            scope.assigned = after_then
        else:
            scope.assigned &= after_then
        return (ir.If(condition, then, otherwise, at),), then_ends and otherwise_ends and bool(orelse)

    def loop(self, node: ast.For, scope: Scope) -> tuple[tuple[ir.Statement, ...], bool]:
        if node.orelse:
            self.report("loop-else", node.orelse[0], "a loop with an else part")
        if not isinstance(node.target, ast.Name):
            raise self.stop("statement", node.target, "a loop counts with one plain name")
        start, stop, step = self.bounds(node.iter)
        name = node.target.id
        self.local_name(name, node.target)
        if scope.loops == grammar.MAX_LOOP_DEPTH:
            raise self.stop("loop-depth", node, "too many nested loops")
        before = set(scope.assigned)
        scope.assigned.add(name)
        scope.loops += 1
        body, _ = self.block(node.body, scope)
        scope.loops -= 1
        made = ir.Loop(name, start, stop, step, body, position(node))
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
                raise self.stop("loop-bounds", node, f"the bound `{snippet(node)}` is not an integer literal")

    # The call graph

    def helper_order(self) -> list[str]:
        """Return the helpers, callees before their callers; reports recursion."""
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


def _spelled(declared: Signature) -> str:
    return f"`def {declared.function}({', '.join(argument.name for argument in declared.arguments)})`"


def _kept_in_state(name: str) -> str:
    """Return the hint where a handler would change a variable of the module."""
    return f"what an event changes is state: declare `{name}` in `class {ir.STATE}:` and write `{ir.STATE}.{name}`"
