"""A policy's own state in an exported module: its names, its initial values, and the methods of events.

Registers and arrays are attributes of the argument that statistics of the whole system belong to (`cache.weight`), an
object for each run; fields are attributes of the entity (`obj.tag`). Handlers of events are methods of that argument,
in which it is called `self`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vulcan.anvil import Policy, ir
from vulcan.anvil.rewrite.dead_code import cells_read
from vulcan.export.python.statistic_names import StatisticNames, free_name
from vulcan.export.quoting import MAX_LINE, WIDTH, docstring
from vulcan.task import Argument, Entity, Scalar, Task

_METHODS = ("enter", "update", "leave", "observe", "seed", "fields", "resume")
"""Methods of the classes `_Statistics` and `_Entity`."""


@dataclass(frozen=True, slots=True)
class StateNames:
    """The attributes that hold a program's state, by the name that Anvil reads them by.

    `reading` are the helpers that read registers or arrays, which take the state as another argument.
    """

    variables: tuple[ir.Variable, ...] = ()
    draws: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    reading: frozenset[str] = frozenset()

    @property
    def fields(self) -> tuple[str, ...]:
        """The attributes of the entity."""
        return tuple(self.attributes[v.name] for v in self.variables if v.is_field)

    def reads(self, function: ir.Function) -> bool:
        """Check whether a function reads registers or arrays, itself or through helpers."""
        own = {v.name for v in self.variables if not v.is_field}
        used = {e.name for e in ir.expressions(function.body) if isinstance(e, ir.Cell | ir.Element)}
        return bool(own & used or self.reading & ir.called_names(function.body))

    def initial(self, parameters: Mapping[str, str], *, of_entity: bool) -> Iterator[str]:
        """Yield the initialisation of registers, arrays and the generator, or of fields."""
        for v in self.variables:
            if v.is_field == of_entity:
                value = parameters[v.initial.name] if isinstance(v.initial, ir.Parameter) else repr(v.initial.value)
                written = value if v.length is None else f"[{value}] * {v.length}"
                yield f"        self.{self.attributes[v.name]} = {written}"
        if self.draws and not of_entity:
            yield "        self._random = _Random(0)"


def has_state(program: ir.Module) -> bool:
    """Check whether a program has state or handles events; one that only calls `hash` has neither."""
    return bool(program.variables or program.handlers)


def state_names(policy: Policy, names: StatisticNames, avoided: Collection[str]) -> StateNames:
    """Choose the names for a policy's state; none is that of a feature, statistic or method, or one of `avoided`."""
    program, task = policy.program, policy.task
    if not has_state(program):
        return StateNames()
    controls = {name for event in task.events for name in event.settable}
    read = {name for name, _ in task.whole_interface.features()} | controls
    read |= {method.rpartition(".")[0] for method, _ in names.calls.values()}
    methods = {*avoided, *_METHODS, *(event.function for event in task.events)}
    methods |= {f"observe_{occasion}" for occasion in task.whole_interface.occasions.values()}
    taken: dict[str, set[str]] = {}
    attributes = {}
    for variable in program.variables:
        owner, _, name = variable.name.partition(".")
        spelled = owner if variable.is_field else names.state
        if spelled not in taken:
            own = {attribute for of, _, attribute in (feature.partition(".") for feature in read) if of == spelled}
            taken[spelled] = {*own, *methods, *names.buckets.values()}
        # Python gives names that start with an underscore another meaning, in classes even another name
        name = f"{name.strip('_')}_" if name.startswith("_") else name
        attributes[variable.name] = free_name(name, taken[spelled])
    reading = frozenset(helper.name for helper in program.helpers if cells_read(program, [helper]))
    return StateNames(program.variables, program.draws, attributes, reading)


def seed_method(state: StateNames) -> Iterator[str]:
    """Yield the method that seeds the random numbers; for a policy that draws none it does nothing."""
    yield "    def seed(self, seed: int) -> None:"
    yield '        """Start the random numbers, with a whole number; they start with 0."""'
    if state.draws:
        yield "        self._random = _Random(seed)"


def field_methods(state: StateNames) -> Iterator[str]:
    """Yield the methods that hand the fields of an entity to its next record."""
    names = [f"self.{name}" for name in state.fields]
    written = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    yield "    def fields(self) -> tuple[float, ...]:"
    yield '        """The fields, to be kept as long as the entity is remembered."""'
    yield f"        return {written}"
    yield ""
    yield "    def resume(self, fields: tuple[float, ...]) -> None:"
    yield '        """The entity is back: it has the fields that it left with."""'
    if names:
        yield f"        {written.strip('()')} = fields"


def event_methods(
    task: Task, owner: str, annotations: Mapping[str, str], bodies: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """Yield a method for each event, which takes what its handler sees except the `owner` of the methods.

    `bodies` are the lines of the handlers, by event; an event that the policy does not handle does nothing.
    """
    for event in task.events:
        taken = [_typed(argument, annotations) for argument in event.arguments if argument.name != owner]
        yield ""
        yield from method_head(event.function, taken)
        paragraph = textwrap.wrap(event.meaning, WIDTH - 11)
        yield from docstring("\n".join(paragraph), "        ").split("\n")
        yield from bodies.get(event.function, ())


def _typed(argument: Argument, annotations: Mapping[str, str]) -> str:
    written = "float" if isinstance(argument, Scalar) else annotations.get(argument.name)
    return f"{argument.name}: {written}" if written else argument.name


def method_head(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the lines that define a method without a result."""
    whole = f"    def {name}({', '.join(('self', *arguments))}) -> None:"
    if len(whole) <= MAX_LINE:
        yield whole
    else:
        yield f"    def {name}("
        yield from (f"        {argument}," for argument in ("self", *arguments))
        yield "    ) -> None:"


def handled_features(policy: Policy) -> set[str]:
    """Return the features that handlers of events read."""
    used = (e for handler in policy.program.handlers for e in ir.expressions(handler.body))
    return {e.feature for e in used if isinstance(e, ir.Read)}


def described(policy: Policy, state: StateNames, owner: str, is_used: bool) -> Iterator[str]:
    """Yield lines that say what state the policy has; `is_used` if the module has code that uses the policy."""
    kinds = {
        "registers": [state.attributes[v.name] for v in state.variables if not v.is_field and v.length is None],
        "arrays": [f"{state.attributes[v.name]} ({v.length})" for v in state.variables if v.length is not None],
        f"fields of {_entity(policy.task)}": list(state.fields),
    }
    written = [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names]
    handled = [handler.name for handler in policy.program.handlers]
    yield ""
    text = f"It has state: {'; '.join([*written, *(['random numbers'] if state.draws else [])])}." if written else ""
    text += f" It handles {', '.join(handled)}." if handled else ""
    if not is_used:
        text += (
            " An object of `_Statistics`, or of a class derived from it, is the state of one run: pass it as "
            f"`{owner}`, and call its methods at the events."
        )
        text += " `seed` starts its random numbers." if state.draws else ""
        written_to = {name for handler in policy.program.handlers for name in ir.stored_names(handler.body)}
        controls = sorted(written_to - {v.name for v in state.variables})
        text += f" Handlers also set {', '.join(controls)}." if controls else ""
        if state.fields:
            text += (
                f" Derive the class of `{_entity(policy.task)}` from `_Entity`; what `fields` returns when it leaves, "
                "give to `resume` of the object that it has when it comes back while it is remembered."
            )
    yield from textwrap.wrap(text.strip(), WIDTH)


def _entity(task: Task) -> str:
    return next((a.name for a in task.whole_interface.arguments if isinstance(a, Entity)), "")
