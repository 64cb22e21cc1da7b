"""A program's own state apart from its decisions: variables, event handlers and the helpers that these call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vulcan.anvil import ir
from vulcan.anvil.rewrite.dead_code import cells_read, state_slice
from vulcan.anvil.rewrite.traversal import from_below, in_block, in_statements, numbered
from vulcan.task import StateLimits

_Statements = tuple[ir.Statement, ...]


class NotMerged(Exception):
    """Two states do not fit into one program."""


@dataclass(frozen=True, slots=True)
class ProgramState:
    """The state of a program. A handler's body has no final `return`."""

    variables: tuple[ir.Variable, ...] = ()
    handlers: tuple[ir.Function, ...] = ()
    helpers: tuple[ir.Function, ...] = ()

    @classmethod
    def of(cls, program: ir.Module) -> ProgramState:
        """Return the state of a program, without what no decision depends on."""
        sliced = state_slice(program, cells_read(program, program.entries))
        handlers = tuple(replace(f, body=_open_ended(f.body)) for f in sliced.handlers)
        return cls(sliced.variables, handlers, ir.reached(program.helpers, handlers))

    @property
    def names(self) -> frozenset[str]:
        """The names of locals, arguments and functions, which parameters may not take."""
        names: set[str] = set()
        for function in (*self.handlers, *self.helpers):
            names |= {function.name, *function.arguments, *ir.assigned_names(function.body)}
        return frozenset(names)

    def variable(self, name: str) -> ir.Variable:
        return next(v for v in self.variables if v.name == name)

    def with_variable(self, variable: ir.Variable) -> ProgramState:
        return replace(self, variables=(*self.variables, variable))

    def with_statements(self, event: str, arguments: Sequence[str], *new: ir.Statement) -> ProgramState:
        """Return the state with statements at the end of an event's handler, or before it if it may return early."""
        handlers = {handler.name: handler for handler in self.handlers}
        old = handlers.get(event, ir.Function(event, tuple(arguments), ()))
        handlers[event] = replace(old, body=_together(old.body, new))
        return replace(self, handlers=tuple(handlers.values()))

    def exceeds(self, limits: StateLimits) -> bool:
        fields = sum(v.is_field for v in self.variables)
        elements = sum(v.length or 0 for v in self.variables)
        registers = sum(not v.is_field and v.length is None for v in self.variables)
        return fields > limits.fields or elements > limits.elements or registers > limits.registers

    def sliced(self, roots: Iterable[str]) -> ProgramState:
        """Return only what the roots, or a control of an event, depend on."""
        nothing = ir.Function("", (), ())
        whole = ir.Module((), (*self.helpers, *self.handlers, nothing), "", 1, len(self.handlers), self.variables)
        sliced = state_slice(whole, roots)
        handlers = (replace(f, body=_without_idle_draws(f.body)) for f in sliced.handlers)
        kept = tuple(f for f in handlers if ir.stored_names(f.body))
        return ProgramState(sliced.variables, kept, ir.reached(self.helpers, kept))

    def put_into(self, program: ir.Module, parameters: Mapping[str, float], events: Sequence[str]) -> ir.Module:
        """Return the program with this state, as far as its decisions depend on it, and the parameters it then uses."""
        entries = program.entries
        own = {helper.name: helper for helper in program.reached(*entries)}  # others may read state that is not needed
        needed = self.sliced(cells_read(replace(program, handled=0, functions=(*own.values(), *entries)), entries))
        helpers = {helper.name: helper for helper in needed.helpers} | own
        handlers = tuple(sorted(needed.handlers, key=lambda handler: events.index(handler.name)))
        whole = replace(
            program,
            parameters=tuple(parameters.items()),
            functions=(*helpers.values(), *handlers, *entries),
            handled=len(handlers),
            variables=needed.variables,
        )
        return whole.without_unused_parameters()

    def renamed(self, changed: Mapping[str, str]) -> ProgramState:
        """Return the state with variables, parameters, helpers and locals renamed."""
        return ProgramState(
            tuple(with_other_name(v, changed) for v in self.variables),
            tuple(with_names(f, changed) for f in self.handlers),
            tuple(with_names(f, changed) for f in self.helpers),
        )

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters that it uses."""
        held = (e for f in (*self.handlers, *self.helpers) for e in ir.expressions(f.body))
        every = (*held, *(variable.initial for variable in self.variables))
        return frozenset(e.name for e in every if isinstance(e, ir.Parameter))


NO_STATE = ProgramState()


def merged(
    own: ProgramState, other: ProgramState, roots: Iterable[str], taken: Collection[str]
) -> tuple[ProgramState, dict[str, str]]:
    """Add what the roots depend on in the other state, and return the new names of its variables and helpers.

    What both have alike is shared. `taken` are names that helpers and locals of the other may not have. Parameters are
    not renamed. Raises NotMerged.
    """
    new_names: dict[str, str] = {}
    missing: set[str] = set()
    for root in roots:
        part = other.sliced({root})
        names = [variable.name for variable in part.variables]
        if own.sliced(names) == part:
            new_names |= {name: name for name in names}
        else:
            missing.add(root)
    if not missing:
        return own, new_names
    part = other.sliced(missing)
    used = {variable.name for variable in own.variables}
    changed: dict[str, str] = {}
    for variable in part.variables:
        changed[variable.name] = free_name(variable.name, {*used, *changed.values()})
        new_names[variable.name] = changed[variable.name]
    helpers = {helper.name: helper for helper in own.helpers}
    locals_ = {n for f in (*part.handlers, *part.helpers) for n in ir.assigned_names(f.body)}
    locals_ |= {n for helper in part.helpers for n in helper.arguments}
    reserved = {*taken, *own.names, *part.names}
    for name in sorted(locals_ & {*taken, *helpers}):
        changed[name] = free_name(name, {*reserved, *changed.values()})
    for helper in part.helpers:
        if helper.name in taken or helpers.get(helper.name, helper) != helper:
            changed[helper.name] = free_name(helper.name, {*reserved, *changed.values()})
    part = part.renamed(changed)
    helpers |= {helper.name: helper for helper in part.helpers}
    own = replace(own, variables=(*own.variables, *part.variables), helpers=tuple(helpers.values()))
    for handler in part.handlers:
        own = own.with_statements(handler.name, handler.arguments, *handler.body)
    return own, new_names


def _open_ended(body: _Statements) -> _Statements:
    """Return a handler's body without the final `return`."""
    return body[:-1] if body and isinstance(body[-1], ir.Return) else body


def _together(one: _Statements, other: _Statements) -> _Statements:
    """Return both bodies in one, so that all of both is executed. Raises NotMerged."""
    if not ir.may_return(one):
        return (*one, *other)
    if not ir.may_return(other):
        return (*other, *one)
    raise NotMerged("both handlers may return early")


def _without_idle_draws(body: _Statements) -> _Statements:
    """Return the statements without random numbers at the top level that are not read."""
    read = ir.local_names(body)
    return tuple(
        s for s in body if not (isinstance(s, ir.Assign) and isinstance(s.value, ir.Draw) and s.name not in read)
    )


def with_other_name(variable: ir.Variable, changed: Mapping[str, str]) -> ir.Variable:
    """Return the variable with another name, and with its parameter renamed."""
    initial = variable.initial
    if isinstance(initial, ir.Parameter):
        initial = ir.Parameter(changed.get(initial.name, initial.name))
    return replace(variable, name=changed.get(variable.name, variable.name), initial=initial)


def with_names(function: ir.Function, changed: Mapping[str, str]) -> ir.Function:
    """Return the function with parameters, helpers, arguments, locals and state renamed."""

    def change(e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Parameter(name) | ir.Local(name) | ir.Cell(name) | ir.Element(name):
                return replace(e, name=changed.get(name, name))
            case ir.Call(name):
                return replace(e, function=changed.get(name, name))
            case _:
                return e

    def target(statement: ir.Statement) -> tuple[ir.Statement, ...]:
        if isinstance(statement, ir.Assign | ir.Write | ir.Loop):
            statement = replace(statement, name=changed.get(statement.name, statement.name))
        return (statement,)

    body = in_statements(in_block(function.body, lambda e: from_below(e, change)), target)
    arguments = tuple(changed.get(name, name) for name in function.arguments)
    return replace(function, name=changed.get(function.name, function.name), arguments=arguments, body=body)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, with another number behind it if it is taken."""
    return numbered(stem_of(name), taken) if name in taken else name


def stem_of(name: str) -> str:
    """Return the name without a number behind it."""
    return name.rstrip("0123456789").rstrip("_") or name
