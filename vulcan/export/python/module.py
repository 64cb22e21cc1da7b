"""Assembly of an exported Python module, and its classes for a policy's statistics.

`_Entity` is the base class of the entity, with the per-entity state of statistics. `_Statistics` is the base class of
the argument that the system's statistics and the percentiles over all live entities belong to. It is notified of
entities through `enter`, `update` and `leave`, or of events through `observe` if the task has no entity, and through
`observe_OCCASION` on each occasion at which features are observed. For a policy with state both hold it too, and
`_Statistics` has a method for each event of the task, which is the policy's handler.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vulcan.anvil import Policy, arithmetic, ir, statistic_semantics
from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError
from vulcan.export.provenance import Provenance
from vulcan.export.python.functions import PythonSource, python_source, taken_by
from vulcan.export.python.state import (
    StateNames,
    described,
    event_methods,
    field_methods,
    handled_features,
    has_state,
    method_head,
    seed_method,
    state_names,
)
from vulcan.export.python.statistic_names import StatisticNames, StatisticState, statistic_names
from vulcan.export.quoting import docstring, fitted, quoted
from vulcan.export.source import MARKER, POLICY
from vulcan.export.template import FIELDS, LIBRARY, STATE, STATISTICS, Template
from vulcan.task import History, Json, Scalar, Signature


@dataclass(frozen=True, slots=True)
class _Writer:
    """A writer of the two classes.

    `annotations` are types of the task's arguments, by name; `handling` is the policy and the source of its functions,
    where it has state.
    """

    names: StatisticNames
    signature: Signature
    annotations: Mapping[str, str]
    state: StateNames
    handling: tuple[Policy, PythonSource] | None

    def classes(self) -> str:
        written = [self.entity()] if self.signature.entity is not None else []
        return "\n\n\n".join("\n".join(lines) for lines in (*written, self.statistics()))

    # State of an entity

    def entity(self) -> Iterator[str]:
        streams, fields = self.names.observing["entity"], self.state.fields
        yield "class _Entity:"
        yield '    """What the policy\'s statistics keep of each entity."""'
        yield ""
        own = (*(each.name for each in streams), *self.names.buckets.values(), *fields)
        slots = fitted("    __slots__ = ", ast.Tuple([ast.Constant(name) for name in own]))
        yield from (line.replace("'", '"') for line in slots)
        if self.names.buckets:
            yield ""
            yield from (f"    {name}: int" for name in self.names.buckets.values())
        if streams or fields:
            yield ""
            yield "    def __init__(self) -> None:"
            yield from (f"        self.{each.name} = {each.made}" for each in streams)
            if self.handling:
                yield from self.state.initial(self.handling[1].names, of_entity=True)
        if self.handling:
            yield ""
            yield from field_methods(self.state)

    # Event notifications

    def statistics(self) -> Iterator[str]:
        system = self.names.of_system
        yield "class _Statistics:"
        told = "every entity" if self.signature.entity is not None else "every event"
        yield f'    """What the policy knows from having watched; it is told of {told}."""'
        read = {each.feature for each in self.names.observing["system"]}
        read |= handled_features(self.handling[0]) if self.handling else set()
        seen = {feature for feature in read if feature.partition(".")[0] == self.names.state}
        if seen:
            yield ""
            yield from (f"    {name.partition('.')[2]}: float" for name in sorted(seen))
        own = list(self.state.initial(self.handling[1].names, of_entity=False)) if self.handling else []
        if system or own:
            yield ""
            yield "    def __init__(self) -> None:"
            yield from (f"        self.{each.name} = {each.made}" for each in system)
            yield from own
        if self.handling:
            yield ""
            yield from seed_method(self.state)
        yield from self.events()
        if self.handling:
            policy, source = self.handling
            yield from event_methods(policy.task, self.names.state, self.annotations, source.handlers)

    def observed_at(self, occasion: str | None) -> list[str]:
        """Return the observations of the system's features on the occasion, or at every event."""
        made = []
        for each in self.names.observing["system"]:
            if self.signature.occasions.get(each.feature) == occasion:
                owner, _, name = each.feature.partition(".")
                value = f"self.{name}" if owner == self.names.state else each.feature
                made.append(f"        self.{each.name}.append({value})")
        return made

    def occasions(self) -> Iterator[str]:
        """Yield a method for each occasion, which takes the groups of features observed then."""
        for occasion in dict.fromkeys(self.signature.occasions.values()):
            owners = dict.fromkeys(n.partition(".")[0] for n, o in self.signature.occasions.items() if o == occasion)
            groups = [owner for owner in owners if owner != self.names.state]
            yield from self.method(
                f"observe_{occasion}", f"The occasion has come: {occasion.replace('_', ' ')}.", groups
            )
            yield from self.observed_at(occasion)

    def events(self) -> Iterator[str]:
        observed, buckets = self.observed_at(None), self.names.buckets
        if self.signature.entity is None:
            yield from self.method("observe", "An event.", self.arguments)
            yield from observed
            yield from self.occasions()
            return
        entity = self.signature.entity.name
        own = [f"        {entity}.{each.name}.append({each.feature})" for each in self.names.observing["entity"]]
        own += [f"        self._observe({', '.join(self.arguments)})"] if observed else []
        yield from self.method("enter", "The entity, a new object, has entered.", self.arguments)
        yield from own
        yield from (f"        {entity}.{buckets[f]} = self.{p.name}.add({f})" for f, p in self.populations)
        yield from self.method("update", "The entity was touched.", self.arguments)
        yield from own
        for feature, population in self.populations:
            bucket = f"{entity}.{buckets[feature]}"
            yield f"        {bucket} = self.{population.name}.move({bucket}, {feature})"
        argument = f"{entity}: {self.annotations[entity]}" if entity in self.annotations else entity
        yield from ["", f"    def leave(self, {argument}) -> None:", '        """The entity leaves."""']
        yield from (f"        self.{p.name}.remove({entity}.{buckets[f]})" for f, p in self.populations)
        if observed:
            yield from self.method("_observe", "An event of any entity.", self.arguments)
            yield from observed
        yield from self.occasions()

    @property
    def populations(self) -> Iterable[tuple[str, StatisticState]]:
        return self.names.populations.items()

    def method(self, name: str, event: str, arguments: Sequence[str]) -> Iterator[str]:
        types = {a.name: "float" for a in self.signature.arguments if isinstance(a, Scalar)} | dict(self.annotations)
        written = [f"{a}: {types[a]}" if a in types else a for a in arguments]
        yield ""
        yield from method_head(name, written)
        yield f'        """{event}"""'

    @property
    def arguments(self) -> list[str]:
        """The functions' arguments except the state and histories, which answer about entities that left."""
        return [a.name for a in self.signature.arguments if not isinstance(a, History) and a.name != self.names.state]


FORMAT_VERSION = 1
_LARGEST = "_LARGEST"


def python_module(
    policy: Policy,
    provenance: Provenance,
    template: Template,
    *,
    imports: Collection[str] = (),
    behind: str = "",
    needs: str = "It needs Python alone.",
) -> str:
    """Generate a module that imports only the standard library: the policy, followed by the template's text.

    The text in `behind` follows, and the module also imports the modules in `imports`; `needs` then states the
    requirements. Raises UserError if the template cannot give a function of the policy the statistics that it reads.
    """
    with_state = has_state(policy.program)
    has = {policy.mechanism, *(f.function for f in policy.task.functions), *(h.name for h in policy.program.handlers)}
    has |= {STATE} if with_state else set()
    has |= {STATISTICS} if policy.plan.statistics else set()
    has |= {FIELDS} if any(variable.is_field for variable in policy.program.variables) else set()
    template = template.written(has)
    signature = policy.task.whole_interface if with_state else policy.task.interface
    names = statistic_names(policy.plan, signature, policy.task.interface)
    own = {
        *LIBRARY,
        "struct",
        MARKER,
        POLICY,
        _LARGEST,
        "_USES",
        "_Entity",
        "_Statistics",
        *_functions(),
        *template.names,
        *(name.partition(".")[0] for name in imports),
        *Template(behind).names,
    }
    state = state_names(policy, names, template.attributes | Template(behind).attributes)
    _check_state(policy, names.state, state, template)
    source = python_source(
        policy.program,
        names,
        signature,
        used_names=own,
        annotations=template.annotations,
        with_state=template.with_state,
        state=state,
    )
    is_kept = template.text or policy.plan.statistics or with_state
    handling = (policy, source) if with_state else None
    statistics = _Writer(names, signature, template.annotations, state, handling).classes() if is_kept else ""
    needed = source.runtime | names.runtime | ({"_Random", "_mix"} if state.draws else set())
    code = [
        *source.functions,
        *(inspect.getsource(_functions()[name]).rstrip() for name in _functions() if name in needed),
        *([statistics] if statistics else []),
        *(text.rstrip() for text in (template.text, behind) if text),
    ]
    used = {node.id for part in code for node in ast.walk(syntax_tree(part)) if isinstance(node, ast.Name)}
    constants = [
        *([f"{_LARGEST} = {arithmetic._LARGEST!r}"] if _LARGEST in used else []),
        *(_settings(template, provenance, used) if template.settings else []),
        *([_uses(policy)] if template.text else []),
    ]
    head = [
        docstring("\n".join(_documentation(policy, provenance, needs, state, names.state, bool(template.text)))),
        *_imports([*imports, *({*LIBRARY, "struct"} & used)]),
        f"{MARKER} = {FORMAT_VERSION}",
        *([source.parameters] if source.parameters else []),
        *(["\n".join(constants)] if constants else []),
    ]
    tail = (
        "# The policy as it was searched, in the language Anvil; `vulcan eval` and `vulcan check` read it from here\n"
        f"{POLICY} = {quoted(policy.source)}\n"
    )
    return "\n\n\n".join(["\n\n".join(head), *code, tail])


def _check_state(policy: Policy, owner: str, state: StateNames, template: Template) -> None:
    for entry in policy.program.entries if template.text else ():
        reads = state.reads(entry)
        if len(taken_by(entry, owner, reads)) > len(entry.arguments) and entry.name not in template.with_state:
            what = "reads the policy's state" if reads else "asks for statistics of the whole system"
            raise UserError(
                f"task {policy.task.name!r}: this policy's {entry.name} {what}, which "
                f"the stand-in for it in export/python.py does not take; give it one more argument, behind the others"
            )


def _functions() -> Mapping[str, type]:
    """Return the functions and classes of the runtime, in the order they are written in."""
    own = [(module.__name__, vars(module)) for module in (arithmetic, statistic_semantics)]
    return {
        name: value
        for module, names in own
        for name, value in names.items()
        if name.startswith("_") and getattr(value, "__module__", "") == module
    }


def _imports(names: Collection[str]) -> Iterator[str]:
    """Yield the imports, the standard library first."""
    own = {name for name in names if name.partition(".")[0] in sys.stdlib_module_names}
    yield from ("\n".join(f"import {name}" for name in sorted(some)) for some in (own, {*names} - own) if some)


def _documentation(
    policy: Policy, provenance: Provenance, needs: str, state: StateNames, owner: str, is_used: bool
) -> Iterator[str]:
    yield policy.program.documentation or f"A policy of the task {provenance.task}."
    yield ""
    yield from provenance.lines(needs)
    if has_state(policy.program):
        yield from described(policy, state, owner, is_used)


def _settings(template: Template, provenance: Provenance, used: Collection[str]) -> Iterator[str]:
    for name, default in template.settings.items():
        if name not in used:
            continue
        value: Json = provenance.settings.get(name.lower(), default)
        yield f"{name} = {_literal(default if value is None else value)}"


def _uses(policy: Policy) -> str:
    names = {*_read(policy), *(f"{query.history}.{query.query}" for query in policy.plan.queries)}
    elements: list[ast.expr] = [ast.Constant(name) for name in sorted(names)]
    written = ast.Call(ast.Name("frozenset"), [ast.Set(elements)] if elements else [], [])
    return "\n".join(fitted("_USES = ", written)).replace("'", '"')


def _read(policy: Policy) -> set[str]:
    """Return the features that are read as numbers, directly or through statistics.

    An entity's key is excluded if it is only looked for among keys, as that takes nothing but equality.
    """
    names = {*policy.plan.features, *(s.feature for s in policy.plan.statistics)}
    entity = policy.task.interface.entity
    if entity is not None:
        key = ir.Read(f"{entity.name}.{entity.key}")
        written = [e for function in policy.program.functions for e in ir.expressions(function.body)]
        asked = [e for e in written if isinstance(e, ir.Occurrences) and e.statistic.feature == key.feature]
        if all(e.value == key for e in asked) and len(asked) == written.count(key):
            names.discard(key.feature)
    return names


def _literal(value: Json) -> str:
    return '"' + value + '"' if isinstance(value, str) and value.replace(".", "_").isidentifier() else repr(value)
