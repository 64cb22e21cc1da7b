"""State of a policy's statistics in scaled integers, and the C code that updates and reads it.

A ring is an array that shifts by one at each observation, the newest first, which a loop verifier can follow.
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.anvil import ir
from vulcan.anvil.plan import Plan
from vulcan.anvil.state_layout import OBSERVATIONS, Part
from vulcan.anvil.statistic_semantics import nearest_rank
from vulcan.export.c.fixed_point import BITS, NumberFormat, NumberFormats, integer_bits, quantised, refusal
from vulcan.export.c.header import each
from vulcan.export.c.naming import flat, member_of
from vulcan.export.c.statistic_groups import Group, group_of, groups_of
from vulcan.task import Signature

_ALPHA_SCALE = 62


class FixedStatistics:
    """A writer of struct members, observing code and expressions that read statistics."""

    def __init__(self, plan: Plan, signature: Signature, kinds: NumberFormats) -> None:
        self.plan = plan
        self.signature = signature
        self.kinds = kinds
        for statistic in plan.statistics:
            if statistic.scope != "system":
                spelled = f"{statistic.feature}.{statistic.kind}"
                raise refusal(
                    f"{spelled} is a statistic of each entity or of all of them, which are not kept there", statistic.at
                )
        self.groups = tuple(g for g in groups_of(plan, signature) if g.base == "system")

    @property
    def slots(self) -> int:
        return sum(length for group in self.groups for length in group.parts.values())

    def scale(self, part: Part) -> int:
        """Return the scale of a member."""
        of_feature = self.kinds.feature(part.feature)
        match part.kind:
            case "avg" | "ewma" as kind:
                arguments = (part.argument,) if kind == "ewma" else ()
                bounds = self.kinds.ranges.statistic(ir.Statistic(kind, "system", part.feature, arguments))
                return NumberFormat(bounds, of_feature.typical).scale
            case "sum":
                room = BITS - integer_bits(of_feature.bounds.magnitude) - int(part.argument).bit_length()
                return min(of_feature.scale, room)
            case _:
                return of_feature.scale

    # State

    def members(self) -> list[str]:
        made = []
        for group in self.groups:
            for part, length in group.parts.items():
                size = f"[{length}]" if part.kind in ("ring", "sorted") else ""
                remark = "how many observations there were" if part == OBSERVATIONS else f"scale {self.scale(part)}"
                remark += ", the newest first" if part.kind == "ring" else ", in order" if part.kind == "sorted" else ""
                made.append(f"policy_fixed {group.member(part, self.signature)}{size}; /* {remark} */")
        return made

    def lvalue(self, group: Group, part: Part) -> str:
        return f"state->{group.member(part, self.signature)}"

    def observations(self, group: Group) -> str:
        return self.lvalue(group, OBSERVATIONS)

    def initialised(self) -> Iterator[str]:
        """Yield the initialisation of every member, before any observation."""
        for group in self.groups:
            for part, length in group.parts.items():
                place = self.lvalue(group, part)
                if part == OBSERVATIONS:
                    yield f"{place} = 0;"
                    continue
                unknown = quantised(self.kinds.declared[part.feature].unknown, self.scale(part))
                if part.kind == "ring":
                    yield from each(length, f"{place}[i] = {unknown}LL;")
                elif part.kind == "sorted":
                    yield from each(length, f"{place}[i] = POLICY_MOST;")
                    yield f"{place}[0] = {unknown}LL;"
                else:
                    yield f"{place} = {unknown}LL;"

    def observed(self, group: Group) -> Iterator[str]:
        """Yield an observation of every stream of the group."""
        for part in group.parts:
            if part != OBSERVATIONS:
                yield from self.part(group, part)
        for ring in group.of_kind("ring"):
            place = self.lvalue(group, ring)
            if group.parts[ring] > 1:
                yield from each(
                    group.parts[ring] - 1,
                    f"{place}[LAST - i] = {place}[LAST - 1 - i];".replace("LAST", str(group.parts[ring] - 1)),
                )
            yield f"{place}[0] = {self.value(ring)};"
        if OBSERVATIONS in group.parts:
            yield f"{self.observations(group)} = policy_add({self.observations(group)}, 1);"

    def value(self, part: Part) -> str:
        """Return the feature's value at the scale of the member."""
        text, by = f"features->{member_of(part.feature)}", self.scale(part) - self.kinds.feature(part.feature).scale
        return f"policy_scaled({text}, {by})" if by else text

    def part(self, group: Group, part: Part) -> Iterator[str]:
        place, value = self.lvalue(group, part), self.value(part)
        before = self.observations(group) if OBSERVATIONS in group.parts else ""
        match part.kind:
            case "latest":
                yield f"{place} = {value};"
            case "avg":
                step = f"policy_divide(policy_subtract({value}, {place}), policy_add({before}, 1), 0)"
                yield f"{place} = {before} == 0 ? {value} : policy_add({place}, {step});"
            case "ewma":
                alpha = quantised(part.argument, _ALPHA_SCALE)
                step = f"policy_multiply(policy_subtract({value}, {place}), {alpha}LL, {_ALPHA_SCALE})"
                yield f"{place} = {before} == 0 ? {value} : policy_add({place}, {step}); /* {part.argument:g} */"
            case "min" | "max":
                yield f"{place} = {before} == 0 ? {value} : policy_{part.kind}({place}, {value});"
            case "sum":
                window = int(part.argument)
                oldest = f"{self.lvalue(group, Part('ring', part.feature))}[{window - 1}]"
                by = self.scale(part) - self.kinds.feature(part.feature).scale
                oldest = f"policy_scaled({oldest}, {by})" if by else oldest
                yield f"if ({before} == 0)"
                yield f"    {place} = 0;"
                yield f"if ({before} >= {window})"
                yield f"    {place} = policy_subtract({place}, {oldest});"
                yield f"{place} = policy_add({place}, {value});"
            case "sorted":
                window, place = int(part.argument), self.lvalue(group, part)
                oldest = f"{self.lvalue(group, Part('ring', part.feature))}[{window - 1}]"
                yield f"policy_sorted_observe({place}, {window}, {before}, {oldest}, {value});"

    # Reads

    def places(self) -> Iterator[str]:
        """Yield a table for each percentile: the place in order, by how many observations there are."""
        for statistic in self.plan.statistics:
            if statistic.kind == "window_percentile":
                share, window = statistic.arguments[0], int(statistic.arguments[1])
                ranks = ", ".join(["0", *(str(nearest_rank(share, count) - 1) for count in range(1, window + 1))])
                yield (
                    f"/* The place, by how many there are, of what a share {share:g} of them does not exceed. */\n"
                    f"static const unsigned short {self.places_of(statistic)}[{window + 1}] = {{{ranks}}};"
                )

    def places_of(self, statistic: ir.Statistic) -> str:
        """Return the name of a percentile's table, with its number in the plan."""
        return f"policy_{flat(statistic.feature)}_places_{self.plan.statistics.index(statistic)}"

    def answer(self, statistic: ir.Statistic) -> tuple[str, int]:
        """Return the expression and scale of a statistic that looks for no value."""
        group, feature = group_of(statistic, self.groups, self.signature), statistic.feature
        match statistic.kind:
            case "latest" | "avg" | "min" | "max" | "ewma" as kind:
                part = Part(kind, feature, *statistic.arguments)
                return self.lvalue(group, part), self.scale(part)
            case "recent":
                ring = Part("ring", feature)
                return f"{self.lvalue(group, ring)}[{int(statistic.arguments[0]) - 1}]", self.scale(ring)
            case "window_avg":
                window = int(statistic.arguments[0])
                part, scale = Part("sum", feature, statistic.arguments[0]), self.kinds.statistic(statistic).scale
                count = f"policy_max(1, policy_min({self.observations(group)}, {window}))"
                return f"policy_divide({self.lvalue(group, part)}, {count}, {scale - self.scale(part)})", scale
            case _:
                window = int(statistic.arguments[1])
                place = self.lvalue(group, Part("sorted", feature, statistic.arguments[1]))
                numbers = f"{window}, {self.observations(group)}, {self.places_of(statistic)}"
                return f"policy_ranked({place}, {numbers})", self.kinds.feature(feature).scale

    def occurrences(self, statistic: ir.Statistic, value: str, scale: int, at: ir.Position) -> str:
        """Return the expression of a statistic that looks for a value of that scale."""
        if statistic.scope != "system":
            raise refusal(f"{statistic.feature}.{statistic.kind} is a statistic of each entity", at)
        own = self.kinds.feature(statistic.feature).scale
        looked_for = value if own == scale else f"policy_exactly({value}, {own - scale})"
        group = group_of(statistic, self.groups, self.signature)
        ring = self.lvalue(group, Part("ring", statistic.feature))
        found = f"policy_ring_count({ring}, {int(statistic.arguments[-1])}, {self.observations(group)}, {looked_for})"
        return found if statistic.kind == "count" else f"({found} != 0 ? 1 : 0)"
