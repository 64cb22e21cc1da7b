"""A policy as one C header that computes in doubles."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.anvil import Policy
from vulcan.export.c.double import Doubles
from vulcan.export.c.double_statistics import DoubleStatistics
from vulcan.export.c.header import function, needed, origin, struct, struct_of_features
from vulcan.export.c.naming import feature_name
from vulcan.export.c.statistic_groups import Group, groups_of
from vulcan.export.provenance import Provenance
from vulcan.task import Feature

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


def double_header(policy: Policy, provenance: Provenance) -> str:
    """The text of `policy.h`. Any policy in Anvil can be written so."""
    return "\n\n".join(_Header(policy).parts(provenance)) + "\n"


class _Header:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.signature = policy.task.interface
        self.has_entity = self.signature.entity is not None
        self.groups = groups_of(policy.plan, self.signature)
        shapes = policy.plan.shapes(self.signature)
        self.statistics = {_key(group): DoubleStatistics(group, self.signature, shapes) for group in self.groups}

    def parts(self, provenance: Provenance) -> Iterator[str]:
        system = [g for g in self.groups if g.base == "system"]
        members = [line for group in system for line in self.of(group).members()]
        structs = [
            struct_of_features(self.policy, _member, lambda history, query: f"double {query};"),
            struct("policy_state", "What the policy remembers of the whole system.", members),
        ]
        if self.has_entity:
            remembered = list(self.of(self.groups[0]).members())
            structs.append(struct("policy_entity", "What the policy remembers of one entity.", remembered))
        percentiles = [text for group in system for text in self.of(group).percentiles()]
        taken = ("state", *(("entity",) if self.has_entity else ()), "features")
        own = Doubles(self.policy.program, self.signature, self.groups).functions(self.openings, taken)
        functions = [*percentiles, *self.events(), *own]
        library = needed("double.h", "\n".join(functions))
        use = _WITH_ENTITY if self.has_entity else _WITHOUT_ENTITY
        if others := [name for name in self.openings if name != self.policy.task.signature.function]:
            named = ", ".join(f"policy_score_{name}" for name in others)
            use += _OTHERS.format(main=self.policy.task.signature.function, others=named)
        occasions = [g.occasion for g in system if g.occasion]
        told = "".join(f"\npolicy_observe_{o}(&state, &features) on each occasion of {o}." for o in occasions)
        yield origin(self.policy, provenance, "It needs a C99 compiler and its mathematical library.",
                     _ABOUT.format(use=use, functions=told.strip()).replace("\n\n\n", "\n\n"))  # fmt: skip
        yield "#ifndef POLICY_H\n#define POLICY_H"
        yield "#include <math.h>\n#include <stdint.h>\n#include <string.h>"
        yield '#ifdef __FAST_MATH__\n#error "policy.h: without -ffast-math only is arithmetic as defined"\n#endif'
        yield "#define POLICY_MAX 1.7976931348623157e308"
        yield from structs
        if library:
            yield library
        yield from functions
        yield "#endif"

    @property
    def seen(self) -> str:
        entity = "const struct policy_entity *entity, " if self.has_entity else ""
        return f"{entity}const struct policy_features *features"

    @property
    def openings(self) -> dict[str, str]:
        """The first line of each function that the task names."""
        main = self.policy.task.signature.function
        called = {f.function: "" if f.function == main else f"_{f.function}" for f in self.policy.task.functions}
        shown = f"(const struct policy_state *state, {self.seen})"
        return {name: f"static inline double policy_score{suffix}{shown}" for name, suffix in called.items()}

    def of(self, group: Group) -> DoubleStatistics:
        return self.statistics[_key(group)]

    def events(self) -> Iterator[str]:
        system = [g for g in self.groups if g.base == "system"]
        first = system[0]
        start = [line for group in system for line in self.of(group).initialised()]
        yield function("static inline void policy_init(struct policy_state *state)",
                       ["memset(state, 0, sizeof *state);", *start])  # fmt: skip
        if not self.has_entity:
            for group in system:
                suffix = f"_{group.occasion}" if group.occasion else ""
                yield function(
                    f"static inline void policy_observe{suffix}(struct policy_state *state, "
                    "const struct policy_features *features)",
                    ["(void)state; (void)features;", *self.of(group).observed()],
                )
            return
        entity = self.of(self.groups[0])
        arguments = "struct policy_state *state, struct policy_entity *entity"
        shown = f"{arguments}, const struct policy_features *features"
        unused = "(void)state; (void)entity;"
        yield function(f"static inline void policy_observe({shown})",
                       [f"{unused} (void)features;", *entity.observed(), *self.of(first).observed()])  # fmt: skip
        yield function("static inline void policy_entity_init(struct policy_entity *entity)",
                       ["memset(entity, 0, sizeof *entity);", *entity.initialised()])  # fmt: skip
        yield function(f"static inline void policy_enter({shown})",
                       ["policy_entity_init(entity);", "policy_observe(state, entity, features);"])  # fmt: skip
        yield function(f"static inline void policy_leave({arguments})",
                       [unused, *entity.left(), "policy_entity_init(entity);"])  # fmt: skip
        for group in system[1:]:
            yield function(f"static inline void policy_observe_{group.occasion}(struct policy_state *state, "
                           "const struct policy_features *features)",
                           ["(void)state; (void)features;", *self.of(group).observed()])  # fmt: skip


def _member(name: str, feature: Feature) -> str:
    return f"double {feature_name(name.rpartition('.')[2])};"


def _key(group: Group) -> tuple[str, str | None]:
    return group.base, group.occasion
