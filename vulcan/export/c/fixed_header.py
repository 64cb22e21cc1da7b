"""A policy as one C header that computes in scaled 64-bit integers, for platforms without floating point.

`vulcan.export.c.fixed_point` defines the scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vulcan.anvil import Policy
from vulcan.anvil.policy import interface_of
from vulcan.errors import UserError
from vulcan.export.c.fixed import RESULT_SCALE, FixedProgram, FixedState, integer
from vulcan.export.c.fixed_point import (
    NumberFormats,
    quantised,
)
from vulcan.export.c.fixed_statistics import FixedStatistics
from vulcan.export.c.header import (
    function,
    functions_of,
    needed,
    origin,
    require_one_function,
    struct,
    struct_of_features,
)
from vulcan.export.c.naming import feature_name, flat, member_of
from vulcan.export.c.statistic_groups import occasions
from vulcan.export.provenance import Provenance
from vulcan.task import Feature, Signature

_ABOUT = f"""\
Use:  policy_init(&state) once; policy_set_FEATURE(&features, value, scale) for each feature, as value * 2^-scale in
the feature's unit (held within its declared range); policy_observe(&state, &features) at every event, and
policy_observe_OCCASION(...) on each occasion for which POLICY_OBSERVES_OCCASION is defined;
policy_score(&state, &features), which returns the policy's number at scale {RESULT_SCALE}: x >> {RESULT_SCALE} is its
floor.

All arithmetic is on scaled 64-bit integers and saturates: a number x of scale s stands for x * 2^-s. The scale of each
value stands beside it. They follow from the declared ranges of the features: where these leave room, a value keeps all
the bits that its range allows; else 28 bits behind the leading one of a typical value, and it saturates at 2^34 times
that. A comparison is exact, whatever the scales."""

_ABOUT_STATE = """

The policy has state of its own: call policy_EVENT(&state, &features) at each event for which POLICY_HANDLES_EVENT is
defined, after what is observed of it, with &controls last where it may set such (at scale POLICY_SCALE), and with
&entity second where there is a struct policy_entity, which policy_entity_init(&entity) begins. policy_seed(&state,
seed), where random numbers are drawn, starts them elsewhere than at 0. These have all of their 53 bits; so has hash(),
which mixes the doubles nearest to its operands, and is that of the policy in floating point where these are. An index
is rounded down and wrapped exactly. Registers, arrays and fields round and saturate as other values do."""

TYPES = (Path(__file__).parent / "fixed_types.h").read_text(encoding="utf-8").strip()


def fixed_header(policy: Policy, provenance: Provenance, most_bytes: int | None = None) -> str:
    """Generate the text of `policy.h`.

    Raises UserError if the policy cannot be written in bounded integers, or its state would exceed `most_bytes`.
    """
    require_one_function(policy)
    signature = interface_of(policy.task, policy.program)
    kinds = NumberFormats(policy.program, signature)
    statistics = FixedStatistics(policy.plan, signature, kinds)
    own_state = FixedState(policy, kinds)
    kept = 8 * statistics.slots
    if most_bytes is not None and kept > most_bytes:
        raise UserError(
            f"the policy's statistics take {kept:,} bytes, over the {most_bytes:,} that are kept of each: ask for "
            "shorter windows"
        )
    return "\n\n".join(_parts(policy, signature, provenance, kinds, statistics, own_state)) + "\n"


def _parts(
    policy: Policy,
    signature: Signature,
    provenance: Provenance,
    kinds: NumberFormats,
    statistics: FixedStatistics,
    own_state: FixedState,
) -> Iterator[str]:
    plan = policy.plan
    used = {*plan.features, *(s.feature for s in plan.statistics)}
    asked = {f"{q.history}.{q.query}" for q in plan.queries}

    def member(name: str, feature: Feature) -> str | None:
        return f"policy_fixed {feature_name(name.rpartition('.')[2])};" if name in used else None

    def query(history: str, name: str) -> str | None:
        return f"policy_fixed {name};" if f"{history}.{name}" in asked else None

    shown = "struct policy_state *state, const struct policy_features *features"
    has_fields = bool(own_state.fields)
    seen = shown.replace(", ", ", const struct policy_entity *entity, ") if has_fields else shown
    openings = {policy.program.entry.name: f"POLICY_FUNCTION policy_fixed policy_score(const {seen})"}
    openings |= own_state.handlers("POLICY_FUNCTION int", has_fields)
    functions = [
        *statistics.places(),
        function(
            "POLICY_FUNCTION int policy_init(struct policy_state *state)",
            [
                "if (!state)",
                "    return 0;",
                *statistics.initialised(),
                *own_state.initialised(),
                "return 0;",
            ],
        ),
        *own_state.seeded("POLICY_INLINE void"),
        *own_state.entity(),
        *(
            function(
                f"POLICY_FUNCTION int policy_observe{f'_{group.occasion}' if group.occasion else ''}({shown})",
                ["if (!state || !features)", "    return 0;", *statistics.observed(group), "return 0;"],
            )
            for group in statistics.groups
        ),
        *FixedProgram(policy.program, kinds, statistics, own_state).functions(openings),
    ]
    setters = [_setter(name, feature, kinds, name in used) for name, feature in signature.features()]
    for name in sorted(asked):
        scale = kinds.feature(name).scale
        value = f"policy_scaled(value, {scale} - scale); /* scale {scale} */"
        setters.append(_setting(name, [f"features->{member_of(name)} = {value}"]))
    about = _ABOUT + (_ABOUT_STATE if policy.program.uses_state else "")
    yield origin(policy, provenance, "It needs a C compiler alone.", about)
    yield "#ifndef POLICY_H\n#define POLICY_H"
    yield TYPES
    constants = [f"#define POLICY_SCALE {RESULT_SCALE} /* of what policy_score returns */"]
    constants += [f"#define POLICY_OBSERVES_{occasion}" for occasion in occasions(signature)]
    constants += [f"#define POLICY_HANDLES_{name}" for name in own_state.events]
    if own_state.draws:
        constants.append("#define POLICY_DRAWS")
    if own_state.controls():
        constants.append("#define POLICY_UNSET (-POLICY_MOST - 1) /* what no handler sets a control to */")
    yield "\n".join(constants)
    yield struct_of_features(signature, member, query)
    yield struct("policy_state", "What the policy remembers.", statistics.members() + own_state.state_members())
    if has_fields:
        yield struct("policy_fields", "What the policy keeps of one entity itself.", own_state.field_members())
        yield struct("policy_entity", "What the policy remembers of one entity.", ["struct policy_fields fields;"])
    if controls := own_state.controls():
        yield controls
    yield needed(functions_of("fixed.h"), "\n".join((*functions, *setters)))
    yield from setters
    yield from functions
    yield "#endif"


def _setter(name: str, feature: Feature, kinds: NumberFormats, is_used: bool) -> str:
    if not is_used:
        return f"#define policy_set_{flat(name)}(features, value, scale) ((void)0) /* is not read */"
    own = kinds.feature(name).scale
    low, high = (quantised(bound, own) for bound in (feature.low, feature.high))
    scaled = f"policy_scaled(value, {own} - scale)"
    if feature.type != "float":  # rounded down: 2.7 whole packets are 2
        scaled = f"scale > 0 && scale < 63 ? policy_scaled(value >> scale, {own}) : {scaled}"
    bounded = f"value = policy_max(policy_min(value, {integer(high)}), {integer(low)});"
    return _setting(name, [f"value = {scaled};", bounded, f"features->{member_of(name)} = value; /* scale {own} */"])


def _setting(name: str, body: list[str]) -> str:
    arguments = "struct policy_features *features, policy_fixed value, int scale"
    return function(f"POLICY_INLINE void policy_set_{flat(name)}({arguments})", body)
