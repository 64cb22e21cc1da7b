"""A policy as one C header that computes in doubles, with the state and update code of its statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vulcan.anvil import Policy, ir
from vulcan.anvil.policy import interface_of
from vulcan.anvil.state_layout import OBSERVATIONS, Part
from vulcan.export.c.double import Doubles
from vulcan.export.c.header import function, functions_of, needed, origin, struct, struct_of_features
from vulcan.export.c.naming import feature_name
from vulcan.export.c.own_state import OwnState
from vulcan.export.c.statistic_groups import Group, groups_of
from vulcan.export.provenance import Provenance
from vulcan.task import Feature

_WORDS = ("observations", "bucket", "population")


class DoubleStatistics:
    """A writer of struct members and function bodies for one group, in the spelling of `shared`."""

    def __init__(self, shared: Doubles, group: Group) -> None:
        self.shared = shared
        self.group = group
        self.declared: Mapping[str, Feature] = dict(shared.signature.features())
        self.before = f"before_{group.owner}"

    def members(self) -> Iterator[str]:
        for part, length in self.group.parts.items():
            kind = "int64_t" if part.kind in _WORDS else "double"
            size = f"[{self.shared.shapes[part.feature].buckets + 1}]" if part.kind == "population" else ""
            size = f"[{length}]" if part.kind in ("ring", "sorted") else size
            yield f"{kind} {self.group.member(part, self.shared.signature)}{size};"

    def kept(self, part: Part) -> str:
        return self.shared.kept(self.group, part)

    def unknown(self, part: Part) -> str:
        """Return the value before any observation."""
        return self.shared.number(self.declared[part.feature].unknown if part.kind not in _WORDS else 0.0)

    def initialised(self) -> Iterator[str]:
        """Yield the initialisation that follows a memset to 0."""
        for part, length in self.group.parts.items():
            unknown = self.unknown(part)
            if unknown in ("0.0",):
                continue
            if part.kind in ("ring", "sorted"):
                yield f"for (int i = 0; i < {length}; i++)"
                yield f"    {self.kept(part)}[i] = {unknown};"
            else:
                yield f"{self.kept(part)} = {unknown};"

    def observed(self) -> Iterator[str]:
        """Yield an observation of every stream of the group."""
        lines = list(self.changed())
        if any(self.before in line for line in lines):
            yield self.shared.count(self.before, self.kept(OBSERVATIONS))
        yield from lines
        if OBSERVATIONS in self.group.parts:
            yield f"{self.kept(OBSERVATIONS)} += {self.shared.whole(1)};"

    def changed(self) -> Iterator[str]:
        shared = self.shared
        for part in self.group.parts:
            yield from self.part(part, self.kept(part), shared.feature(part.feature) if part.feature else "")
        for ring in self.group.of_kind("ring"):
            place = f"policy_wrapped({self.before}, {shared.whole(self.group.parts[ring])})"
            yield f"{shared.element(self.kept(ring), place)} = {shared.feature(ring.feature)};"
        for part in self.group.of_kind("sum"):
            yield from self.renewed(part)

    def part(self, part: Part, place: str, value: str) -> Iterator[str]:
        shared, before = self.shared, self.before
        is_first = f"{before} == {shared.whole(0)}"
        match part.kind:
            case "latest":
                yield f"{place} = {value};"
            case "avg":
                moved = f"{place} + ({value} - {place}) / ({before} + {shared.whole(1)})"
                yield f"{place} = {shared.choice(is_first, value, moved)};"
            case "ewma":
                moved = f"{place} + {shared.product(shared.number(part.argument), f'({value} - {place})')}"
                yield f"{place} = {shared.choice(is_first, value, moved)};"
            case "min" | "max":
                sign = "<" if part.kind == "min" else ">"
                yield f"{place} = {shared.choice(f'{is_first} || {value} {sign} {place}', value, place)};"
            case "sum":
                left = shared.choice(f"{before} >= {shared.whole(part.argument)}", self.leaving(part), "0.0")
                yield f"{place} = {shared.choice(is_first, '0.0', place)} - {left} + {value};"
            case "sorted":
                changed, window = shared.passed(place, changed=True), shared.whole(part.argument)
                yield f"policy_sorted_observe({changed}, {before}, {window}, {self.leaving(part)}, {value});"
            case "bucket":
                yield "{"
                yield f"    {shared.count('bucket', shared.bucket(value, shared.shapes[part.feature]))}"
                yield f"    {self.moved(part, 'bucket')}"
                yield f"    {place} = bucket;"
                yield "}"

    def left(self) -> Iterator[str]:
        """Yield the removal of an entity from the populations."""
        for part in self.group.of_kind("bucket"):
            yield self.moved(part, self.shared.whole(0))

    def moved(self, part: Part, to: str) -> str:
        """Return the statement that moves an entity to another bucket of a population."""
        population = self.shared.population(part.feature, changed=True)
        return f"policy_population_move({population}, {self.kept(part)}, {to});"

    def leaving(self, part: Part) -> str:
        shared, ring = self.shared, Part("ring", part.feature)
        numbers = f"{shared.whole(part.argument)}, {shared.whole(self.group.parts[ring])}"
        return shared.element(self.kept(ring), f"policy_back({self.before}, {numbers})")

    def renewed(self, part: Part) -> Iterator[str]:
        """Yield a recomputation of the sum of n every n observations, so that rounding errors do not accumulate."""
        shared, ring = self.shared, Part("ring", part.feature)
        window, length = shared.whole(part.argument), shared.whole(self.group.parts[ring])
        after = f"{self.before} + {shared.whole(1)}"
        place = self.kept(part)
        yield f"{place} = policy_renewed({shared.passed(self.kept(ring))}, {after}, {window}, {length}, {place});"


_ABOUT = """\
Use:  {use}
{functions}

All numbers are doubles, and the results are bit for bit those that Vulcan searched with, given IEEE 754 arithmetic
and the same mathematical library: compile without -ffast-math, and with -ffp-contract=off where the machine has fused
multiply-add. No call allocates, loops without a bound, or fails: what has no value is 0, what overflows saturates."""

_WITH_ENTITY = """\
policy_init(&state) once; policy_enter(&state, &entity, &features) when an entity enters, policy_observe(...) when it
is touched, policy_leave(&state, &entity) when it leaves; policy_score(&state, &entity, &features) for its score."""
_WITHOUT_ENTITY = """\
policy_init(&state) once; policy_observe(&state, &features) at every event; policy_score(&state, &features) for the
value."""

_OTHERS = """
policy_score is the function {main} of the task, and there are {others} of the same arguments.
Set the features that a function reads, and at an event those of all of them."""

_HANDLERS = """
At each event that the policy handles call its function, after what is observed of it: {handlers}."""
_FIELDS = """
Call policy_entity_init(&entity) before the first use of an entity and once nothing is remembered of it: its fields
last until then, also while it is away."""
_SEEDED = """
policy_seed(&state, seed) after policy_init starts the random numbers elsewhere than at 0; they are splitmix64's."""


def double_header(policy: Policy, provenance: Provenance, remark: str = "") -> str:
    """Generate the text of `policy.h`; every Anvil policy can be exported to it.

    A remark is written above the instructions in its first comment.
    """
    return "\n\n".join(_Header(policy).parts(provenance, remark)) + "\n"


class _Header:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.signature = interface_of(policy.task, policy.program)
        groups = groups_of(policy.plan, self.signature)
        shapes = policy.plan.shapes(self.signature)
        self.own_state = OwnState(policy, "double", "uint64_t", self.initial)
        self.doubles = Doubles(policy.program, self.signature, groups, shapes, self.own_state)
        statistics = [DoubleStatistics(self.doubles, group) for group in groups]
        self.entity = statistics[0] if self.signature.entity is not None else None
        self.system = statistics if self.entity is None else statistics[1:]

    def parts(self, provenance: Provenance, remark: str) -> Iterator[str]:
        members = [line for each in self.system for line in each.members()] + self.own_state.state_members()
        structs = [
            struct_of_features(
                self.signature,
                lambda name, _: f"double {feature_name(name.rpartition('.')[2])};",
                lambda _, query: f"double {query};",
            ),
            struct("policy_state", "What the policy remembers of the whole system.", members),
        ]
        if self.entity is not None:
            remembered = list(self.entity.members())
            if fields := self.own_state.field_members():
                structs.append(struct("policy_fields", "What the policy keeps of one entity itself.", fields))
                remembered.append("struct policy_fields fields;")
            structs.append(struct("policy_entity", "What the policy remembers of one entity.", remembered))
        if controls := self.own_state.controls():
            structs.append(controls)
        functions = list(self.events())
        # initial values of state name parameters
        constants = list(self.doubles.constants())
        functions = [*constants, *functions] if self.policy.program.variables else [*functions, *constants]
        functions += self.doubles.functions({**self.openings, **self.own_state.handlers("static inline void")})
        library = needed(functions_of("double.h"), "\n".join(functions))
        use = _WITHOUT_ENTITY if self.entity is None else _WITH_ENTITY
        if others := [name for name in self.openings if name != self.policy.task.signature.function]:
            named = ", ".join(f"policy_score_{name}" for name in others)
            use += _OTHERS.format(main=self.policy.task.signature.function, others=named)
        if self.own_state.events:
            use += _HANDLERS.format(handlers=", ".join(f"policy_{name}" for name in self.own_state.events))
        use += _FIELDS if self.own_state.fields else ""
        use += _SEEDED if self.own_state.draws else ""
        occasions = [each.group.occasion for each in self.system if each.group.occasion]
        told = "".join(f"\npolicy_observe_{o}(&state, &features) on each occasion of {o}." for o in occasions)
        about = _ABOUT.format(use=use, functions=told.strip()).replace("\n\n\n", "\n\n")
        yield origin(
            self.policy,
            provenance,
            "It needs a C99 compiler and its mathematical library.",
            f"{remark}\n\n{about}" if remark else about,
        )
        yield "#ifndef POLICY_H\n#define POLICY_H"
        yield "#include <math.h>\n#include <stdint.h>\n#include <string.h>"
        yield '#ifdef __FAST_MATH__\n#error "policy.h: without -ffast-math only is arithmetic as defined"\n#endif'
        yield "#define POLICY_LARGEST 1.7976931348623157e308"
        yield from structs
        if library:
            yield library
        yield from functions
        yield "#endif"

    def initial(self, variable: ir.Variable) -> str:
        if isinstance(variable.initial, ir.Parameter):
            return self.doubles.parameters[variable.initial.name]
        return text if (text := repr(variable.initial.value)) != "0.0" else ""

    @property
    def openings(self) -> dict[str, str]:
        """Return the first line of each entry function."""
        main = self.policy.task.signature.function
        called = {f.function: "" if f.function == main else f"_{f.function}" for f in self.policy.task.functions}
        entity = "" if self.entity is None else "const struct policy_entity *entity, "
        shown = f"(const struct policy_state *state, {entity}const struct policy_features *features)"
        return {name: f"static inline double policy_score{suffix}{shown}" for name, suffix in called.items()}

    def events(self) -> Iterator[str]:
        start = [line for each in self.system for line in each.initialised()]
        start += self.own_state.initialised()
        yield function(
            "static inline void policy_init(struct policy_state *state)", ["memset(state, 0, sizeof *state);", *start]
        )
        yield from self.own_state.seeded("static inline void")
        if self.entity is not None:
            yield from self.of_entity(self.entity)
        for each in self.system[self.entity is not None :]:
            suffix = f"_{each.group.occasion}" if each.group.occasion else ""
            yield function(
                f"static inline void policy_observe{suffix}(struct policy_state *state, "
                "const struct policy_features *features)",
                ["(void)state; (void)features;", *each.observed()],
            )

    def of_entity(self, entity: DoubleStatistics) -> Iterator[str]:
        """Yield the functions of an entity's events, at which the system's statistics observe too."""
        arguments = "struct policy_state *state, struct policy_entity *entity"
        shown = f"{arguments}, const struct policy_features *features"
        unused = "(void)state; (void)entity;"
        yield function(
            f"static inline void policy_observe({shown})",
            [f"{unused} (void)features;", *entity.observed(), *self.system[0].observed()],
        )
        yield function(
            "static inline void policy_entity_init(struct policy_entity *entity)",
            ["memset(entity, 0, sizeof *entity);", *entity.initialised(), *self.own_state.fields_initialised()],
        )
        begin = ["policy_entity_init(entity);"]
        if self.own_state.fields:  # they last as long as the entity's record
            begin = ["const struct policy_fields fields = entity->fields;", *begin, "entity->fields = fields;"]
        yield function(
            f"static inline void policy_enter({shown})",
            [*begin, "policy_observe(state, entity, features);"],
        )
        yield function(f"static inline void policy_leave({arguments})", [unused, *entity.left(), *begin])
