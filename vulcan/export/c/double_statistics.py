"""What exported C keeps in doubles for a policy's statistics, and the functions that keep it up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vulcan.anvil import log_buckets
from vulcan.anvil.state_layout import OBSERVATIONS, Part, PopulationShape
from vulcan.export.c.double import number, population_name
from vulcan.export.c.naming import member_of, part_names
from vulcan.export.c.statistic_groups import Group
from vulcan.task import Feature, Signature

_WORDS = ("observations", "bucket", "population")


class DoubleStatistics:
    """Writes the members of the structs and the bodies of the functions for one group."""

    def __init__(self, group: Group, signature: Signature, shapes: Mapping[str, PopulationShape]) -> None:
        self.group = group
        self.signature = signature
        self.declared: Mapping[str, Feature] = dict(signature.features())
        self.shapes = shapes
        self.names = part_names(group.parts, signature)

    def members(self) -> Iterator[str]:
        for part, length in self.group.parts.items():
            kind = "int64_t" if part.kind in _WORDS else "double"
            size = f"[{self.shapes[part.feature].buckets + 1}]" if part.kind == "population" else ""
            size = f"[{length}]" if part.kind in ("ring", "sorted") else size
            yield f"{kind} {self.group.prefix}{self.names[part]}{size};"

    def place(self, part: Part) -> str:
        return f"{self.group.owner}->{self.group.prefix}{self.names[part]}"

    def value(self, part: Part) -> str:
        return f"features->{member_of(part.feature)}"

    def initialised(self) -> Iterator[str]:
        """Behind a memset to 0."""
        for part, length in self.group.parts.items():
            unknown = number(self.declared[part.feature].unknown) if part.kind not in _WORDS else "0.0"
            if unknown in ("0.0",):
                continue
            if part.kind in ("ring", "sorted"):
                yield f"for (int i = 0; i < {length}; i++)"
                yield f"    {self.place(part)}[i] = {unknown};"
            else:
                yield f"{self.place(part)} = {unknown};"

    def observed(self) -> Iterator[str]:
        """An observation of every stream of the group."""
        lines = list(self.changed())
        if any(self.before in line for line in lines):
            yield f"const int64_t {self.before} = {self.place(OBSERVATIONS)};"
        yield from lines
        if OBSERVATIONS in self.group.parts:
            yield f"{self.place(OBSERVATIONS)} += 1;"

    def changed(self) -> Iterator[str]:
        for part in self.group.parts:
            yield from self.part(part)
        for ring in self.group.of_kind("ring"):
            yield f"{self.place(ring)}[{self.before} % {self.group.parts[ring]}] = {self.value(ring)};"
        for part in self.group.of_kind("sum"):
            yield from self.renewed(part)

    @property
    def before(self) -> str:
        return f"before_{self.group.owner}"

    def part(self, part: Part) -> Iterator[str]:
        place, before = self.place(part), self.before
        match part.kind:
            case "latest":
                yield f"{place} = {self.value(part)};"
            case "avg":
                moved = f"{place} + ({self.value(part)} - {place}) / (double)({before} + 1)"
                yield f"{place} = {before} == 0 ? {self.value(part)} : {moved};"
            case "ewma":
                moved = f"{place} + {number(part.argument)} * ({self.value(part)} - {place})"
                yield f"{place} = {before} == 0 ? {self.value(part)} : {moved};"
            case "min" | "max":
                sign = "<" if part.kind == "min" else ">"
                yield f"if ({before} == 0 || {self.value(part)} {sign} {place})"
                yield f"    {place} = {self.value(part)};"
            case "sum":
                is_full = f"{before} >= {int(part.argument)}"
                old = f"({before} == 0 ? 0.0 : {place})"
                yield f"{place} = {old} - ({is_full} ? {self.leaving(part)} : 0.0) + {self.value(part)};"
            case "sorted":
                window = int(part.argument)
                yield f"if ({before} >= {window})"
                yield f"    policy_sorted_replace({place}, {window}, {self.leaving(part)}, {self.value(part)});"
                yield "else"
                yield f"    policy_sorted_insert({place}, {before}, {self.value(part)});"
            case "bucket":
                shape = self.shapes[part.feature]
                first = log_buckets.first_bucket(shape.resolution)
                numbers = f"{shape.resolution}, {first}, {shape.lowest}, {shape.buckets}"
                bucket = f"policy_bucket({self.value(part)}, {numbers})"
                yield "{"
                yield f"    const int64_t bucket = {bucket};"
                yield f"    policy_population_move({self.population(part)}, {shape.buckets}, {place}, bucket);"
                yield f"    {place} = bucket;"
                yield "}"

    def left(self) -> Iterator[str]:
        """The entity leaves the populations."""
        for part in self.group.of_kind("bucket"):
            shape = self.shapes[part.feature]
            yield f"policy_population_move({self.population(part)}, {shape.buckets}, {self.place(part)}, 0);"

    def population(self, part: Part) -> str:
        wanted = Part("population", part.feature)
        return f"state->{part_names({wanted: 1}, self.signature)[wanted]}"

    def leaving(self, part: Part) -> str:
        ring = Part("ring", part.feature)
        back = f"policy_back({self.before}, {int(part.argument)}, {self.group.parts[ring]})"
        return f"{self.place(ring)}[{back}]"

    def renewed(self, part: Part) -> Iterator[str]:
        """Every n observations the sum of n is computed anew, so that rounding errors do not add up."""
        ring, window = Part("ring", part.feature), int(part.argument)
        length, after = self.group.parts[ring], f"{self.before} + 1"
        start = f"policy_back({after}, {window}, {length})"
        yield f"if (({after}) % {window} == 0)"
        yield f"    {self.place(part)} = policy_ring_sum({self.place(ring)}, {start}, {window}, {length});"

    def percentiles(self) -> Iterator[str]:
        """The functions that answer percentiles over all live entities."""
        for part in self.group.of_kind("population"):
            shape, feature = self.shapes[part.feature], self.declared[part.feature]
            first = log_buckets.first_bucket(shape.resolution)
            yield "\n".join((
                f"static inline double policy_{population_name(part.feature)}_percentile("
                "const struct policy_state *state, double share)",
                "{",
                f"    if (state->{self.names[part]}[0] == 0)",
                f"        return {number(feature.unknown)};",
                f"    return policy_bucket_value(policy_population_bucket(state->{self.names[part]}, {shape.buckets}, "
                f"share), {shape.resolution}, {first}, {shape.lowest});",
                "}",
            ))  # fmt: skip
