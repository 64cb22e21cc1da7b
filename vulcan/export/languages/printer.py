"""The printer of policies in Java, Go and Rust: what the C header in doubles computes, with counts in doubles too."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vulcan.anvil import Policy, ir
from vulcan.anvil.policy import interface_of
from vulcan.anvil.state_layout import Part, PopulationShape
from vulcan.export.c.double import Doubles, FunctionInDoubles
from vulcan.export.c.double_header import DoubleStatistics
from vulcan.export.c.header import answers, blocks_of, described, needed, origin
from vulcan.export.c.naming import flat, helper_name, own_names
from vulcan.export.c.own_state import GENERATOR, OwnState
from vulcan.export.c.statistic_groups import Group, groups_of
from vulcan.export.languages.table import WORDS, Language, Member
from vulcan.export.provenance import Provenance
from vulcan.task import Argument, Entity, Event, Global, History, Scalar

_FOLDER = Path(__file__).parent
_ABOUT = """\
State is made once for the whole system{fields}; set the features that a function reads before each call.
Functions: {functions}.
{observing}
{handlers}
No call fails or loops without a bound: what has no value is 0, what overflows saturates. The results are bit for bit
those that Vulcan searched with{but}."""
_FIELDS = ", and Fields for each entity, kept as long as it is remembered"
_OBSERVING = """\
For statistics call {functions} too: observe before the event's own function, when an entity enters or is touched, at
every event where there are no entities, or on the occasion in its name; leave when an entity has left."""
_OURS = ("state", "fields", "features", "controls", "observe", "leave")
_BUT = ", but for the last bits of {functions}, which are those of the language's own library"


class PolicyFile(Doubles):
    """The context of the functions of one program, and what is written around them."""

    def __init__(self, policy: Policy, language: Language, whole: bool = False) -> None:
        task = policy.task.whole or policy.task
        signature = task.whole_interface if whole else interface_of(policy.task, policy.program)
        groups = groups_of(policy.plan, signature)
        shapes = policy.plan.shapes(signature)
        super().__init__(policy.program, signature, groups, shapes, OwnState(policy, "number", "word"))
        self.generator = "state"
        self.policy = policy
        self.language = language
        self.whole_file = whole
        self.statistics = [DoubleStatistics(self, group) for group in groups]
        of_entity = any(group.base == "entity" and group.parts for group in groups)
        self.keeps_fields = whole or of_entity or bool(self.own_state.fields)
        self.every_function = task.functions
        shown = {name: about for argument in signature.arguments for name, about in _features(argument)}
        # the scalar `a_b` and the feature `b` of `a` may both exist
        names = {name: flat(name) + "_" * ("." in name and flat(name) in shown) for name in shown}
        spelled = own_names(names.values(), WORDS)
        self.places = {name: spelled[new] for name, new in names.items()}
        self.features: list[Member] = [(self.places[name], "number", "0.0", about) for name, about in shown.items()]
        kept = {group.member(part, self.signature) for group in groups for part in group.parts}
        members = own_names((v.name.partition(".")[2] for v in policy.program.variables), WORDS | kept)
        self.members = {v.name: members[v.name.partition(".")[2]] for v in policy.program.variables}

    def feature(self, name: str) -> str:
        return f"features.{self.language.public(self.places[name])}"

    def variable(self, name: str) -> str:
        if name not in self.members:
            return f"controls.{self.language.public(flat(name))}"
        owner = "state" if name.startswith(f"{ir.STATE}.") else "fields"
        return f"{owner}.{self.language.public(self.members[name])}"

    def callable(self, name: str) -> str:
        """Return the name of a function of the task, or of an event."""
        public = self.language.public(name)
        return f"{public}_" if public in WORDS or public.lower() in _OURS else public

    def number(self, value: float) -> str:
        if math.copysign(1.0, value) > 0.0:
            return repr(value)
        return f"({value!r})" if value else self.language.negative_zero

    def whole(self, value: float) -> str:
        return self.number(float(value))

    def kept(self, group: Group, part: Part) -> str:
        owner = "fields" if group.base == "entity" else "state"
        return f"{owner}.{self.language.public(group.member(part, self.signature))}"

    def element(self, array: str, index: str) -> str:
        return f"{array}[{self.language.index.format(index)}]"

    def passed(self, array: str, changed: bool = False) -> str:
        return self.language.passed[changed].format(array)

    def choice(self, test: str, then: str, otherwise: str) -> str:
        return self.language.choose.format(test=test, then=then, otherwise=otherwise)

    def product(self, a: str, b: str) -> str:
        return self.language.product.format(a, b)

    def count(self, name: str, value: str) -> str:
        return self.language.local.format(name=name, value=value)

    def scale(self, shape: PopulationShape) -> str:
        return f"{self.whole(2**shape.resolution)}, {self.whole(shape.lowest)}"

    def size(self, shape: PopulationShape) -> str:
        return self.whole(_leaves(shape))

    def blank(self, statistics: DoubleStatistics, part: Part) -> tuple[str, str]:
        """Return the type of a part, and its value before any observation."""
        length = statistics.group.parts[part]
        if part.kind not in ("ring", "sorted", "population"):
            return "number", statistics.unknown(part)
        length = 2 * _leaves(self.shapes[part.feature]) if part.kind == "population" else length
        return "array", self.language.array.format(length=length, value=statistics.unknown(part))

    def members_of(self, base: str) -> list[Member]:
        groups = [each for each in self.statistics if each.group.base == base]
        return [
            (g.group.member(part, self.signature), *self.blank(g, part), "") for g in groups for part in g.group.parts
        ]

    def observing(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each function that keeps statistics."""
        entity = self.statistics[0] if self.statistics[0].group.base == "entity" and self.keeps_fields else None
        state, fields = (self.language.changed.format(name=name.lower(), type=name) for name in ("State", "Fields"))
        features = self.language.shown.format(name="features", type="Features")
        for each in self.statistics:
            if each.group.base == "system":
                own = entity if each.group.occasion is None else None
                name = self.language.public("observe" + (f"_{each.group.occasion}" if each.group.occasion else ""))
                lines = [*(own.observed() if own else ()), *each.observed()]
                yield name, self.procedure(name, [state, *([fields] if own else []), features], lines)
        if entity is not None:
            blank = [f"{entity.kept(part)} = {self.blank(entity, part)[1]};" for part in entity.group.parts]
            name = self.language.public("leave")
            yield name, self.procedure(name, [state, fields], [*entity.left(), *blank])

    def procedure(self, name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
        opening = self.language.handler.format(name=name, arguments=", ".join(arguments))
        return "\n".join((opening, *(f"    {self.language.spelled(line)}" for line in lines), "}"))

    def arguments(self, function: ir.Function, is_handler: bool) -> Iterator[str]:
        """Yield the declared arguments of a function."""
        first = self.language.changed if is_handler else self.language.shown
        if function in self.program.helpers:
            if function.name in self.readers:
                yield self.language.shown.format(name="state", type="State")
            return
        yield first.format(name="state", type="State")
        if self.keeps_fields and (not is_handler or self.own_state.shows_entity(function.name)):
            yield first.format(name="fields", type="Fields")
        yield self.language.shown.format(name="features", type="Features")
        if is_handler and self.policy.task.event(function.name).controls:
            yield self.language.changed.format(name="controls", type="Controls")

    def structs(self) -> Iterator[str]:
        struct = self.language.struct
        yield struct("Features", "What the policy is shown.", self.features)
        members = self.members_of("system") + [self.stored(v) for v in self.own_state.registers]
        members += [(GENERATOR, "word", "0", "starts the random numbers")] * (self.own_state.draws or self.whole_file)
        yield struct("State", "What the policy remembers of the whole system.", members)
        if self.keeps_fields:
            kept = self.members_of("entity") + [self.stored(v) for v in self.own_state.fields]
            yield struct("Fields", "What the policy keeps of one entity.", kept)
        settable = {c.name: c for event in self.own_state.events.values() for c in event.controls}
        if settable:
            controls = [
                (flat(f"{c.name}.{f.name}"), "number", "0.0", described(f))
                for c in settable.values()
                for f in c.features
            ]
            yield struct("Controls", "What handlers of events may set besides.", controls)

    def stored(self, variable: ir.Variable) -> Member:
        value = variable.initial
        text = self.parameters[value.name] if isinstance(value, ir.Parameter) else self.number(value.value)
        if variable.length is None:
            return self.members[variable.name], "number", text, ""
        text = self.language.array.format(length=variable.length, value=text)
        return self.members[variable.name], "array", text, ""

    def missing(self) -> Iterator[str]:
        """Yield a function that returns 0 for each that the task names and the policy lacks, for code behind it."""
        defined = {function.name for function in self.program.functions}
        for named in (*self.every_function, *self.policy.task.events):
            if named.function not in defined:
                is_handler = isinstance(named, Event)
                arguments = ", ".join(self.arguments(ir.Function(named.function, (), ()), is_handler))
                opening = self.language.handler if is_handler else self.language.function
                opening = opening.format(name=self.callable(named.function), arguments=arguments)
                yield f"{opening}\n" + "    return 0.0;\n" * (not is_handler) + "}"

    def text(self, provenance: Provenance, constants: Mapping[str, float] | None = None, behind: str = "") -> str:
        language = self.language
        parts = [
            language.constant.format(name=name, value=self.number(float(value)))
            for name, value in (constants or {}).items()
        ]
        parts += [
            language.constant.format(name=self.parameters[name], value=self.number(value))
            for name, value in self.program.parameters
        ]
        parts += self.structs()
        observing = {
            name: text for name, text in self.observing() if self.policy.plan.statistics or f" {name}(" in behind
        }
        functions = ["\n".join(_Function(self, f).written_out()) for f in self.program.functions]
        code = "\n\n".join((*observing.values(), *functions))
        total = language.total((_FOLDER / "total.txt").read_text(encoding="utf-8"))
        own = (_FOLDER / f"{language.name}.txt").read_text(encoding="utf-8")
        parts += [needed(blocks_of(total + "\n\n" + own), "\n".join((*parts, code))), code]
        parts += [*self.missing(), behind.strip("\n")] if self.whole_file else []
        named = [self.callable(f.name) for f in self.program.entries]
        handlers = ", ".join(self.callable(f.name) for f in self.program.handlers)
        operations = {
            e.operation for f in self.program.functions for e in ir.expressions(f.body) if isinstance(e, ir.Operate)
        }
        differing = ", ".join(sorted(operations & language.of_own))
        about = _ABOUT.format(
            fields=_FIELDS if self.keeps_fields else "",
            observing=_OBSERVING.format(functions=", ".join(observing)) if self.policy.plan.statistics else "",
            functions=", ".join(named),
            handlers=f"At each event that the policy handles call its function: {handlers}." if handlers else "",
            but=_BUT.format(functions=differing) if differing else "",
        )
        comment = origin(self.policy, provenance, language.needs, re.sub("\n+", "\n", about))
        # Java reads these in comments too
        comment = comment.replace("\\u", "\\ u") if language.name == "java" else comment
        body = "\n\n".join(part for part in parts if part)
        return "\n\n".join(part for part in (comment, language.head, body, language.tail) if part) + "\n"


class _Function(FunctionInDoubles):
    """A writer of one function."""

    def __init__(self, shared: PolicyFile, function: ir.Function) -> None:
        super().__init__(shared, function, "return;" if function in shared.program.handlers else None)
        self.file = shared
        self.declared = function
        self.language = shared.language
        self.names = own_names(ir.assigned_names(function.body) | set(function.arguments), WORDS)

    def written_out(self) -> Iterator[str]:
        file, language = self.file, self.language
        arguments = list(file.arguments(self.declared, self.nothing is not None))
        if self.declared in file.program.helpers:
            name = helper_name(self.function.name)
            arguments += [language.argument.format(self.names[each]) for each in self.declared.arguments]
        else:
            name = file.callable(self.function.name)
        opening = language.function if self.nothing is None else language.handler
        yield opening.format(name=name, arguments=", ".join(arguments))
        for local in self.own_locals():
            yield "    " + language.local.format(name=self.names[local], value="0.0")
        yield from (language.spelled(line) for line in self.block(self.function.body, "    "))
        if self.nothing is None and not ir.ends(self.function.body):
            yield "    return 0.0;"
        yield "}"

    def counted(self, counter: str, trips: int) -> str:
        return self.language.loop.format(counter=counter, trips=trips)

    def turn(self, name: str, counter: str) -> str:
        return self.language.turn.format(counter)

    def unused(self, name: str, value: ir.Expression) -> str:
        return self.language.unused.format(name=f"policy_unused_{name}", value=self.value(value))

    def put(self, place: str, value: str) -> str:
        return self.language.put.format(place=place, value=value)

    def operands(self, operands: tuple[ir.Expression, ...]) -> list[str]:
        values = super().operands(operands)
        if all(isinstance(operand, ir.Number) for operand in operands):
            values[0] = self.language.literal.format(values[0])
        return values


def _leaves(shape: PopulationShape) -> int:
    """Return the leaves of a population's tree: a power of 2 above the number of buckets."""
    return 1 << shape.buckets.bit_length()


def _features(argument: Argument) -> Iterator[tuple[str, str]]:
    """Yield each feature that an argument shows, by the name that it is read by, with its description."""
    match argument:
        case Scalar(feature):
            yield feature.name, described(feature)
        case Entity(features=features) | Global(features=features):
            yield from ((f"{argument.name}.{f.name}", described(f)) for f in features)
        case History():
            yield from ((f"{argument.name}.{query}", meaning) for query, meaning in answers(argument))
