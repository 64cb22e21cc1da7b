"""Memory layout of a plan's statistics: the parts that each needs, and their float64 slots in each block.

An entity has its own block; the system's follows the evaluator's globals, and is followed by one for each occasion at
which features are observed. A block consists of parts, and statistics share the parts that they have in common: the
count of observations, one for all streams of a block, since an event is an observation of each; the ring of a stream's
latest observations, as long as the longest window requested; and the parts of one window of a stream, whichever
statistics need them. `PopulationShape` gives the size and the initial content of a population.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from vulcan.anvil import ir, log_buckets
from vulcan.task import Feature

if TYPE_CHECKING:
    import numpy as np  # takes a third of a scoring child's start, which needs it only for native code

# Words of the header
LIVE, FIRST_BUCKET, MIN, RESOLUTION, BUCKETS, WORDS_AT, TOP_AT, COUNTS_AT, UNKNOWN, HEADER = range(10)

# Words of a cursor: its bucket, the values below that bucket, its latest answer, and whether that is still valid
BUCKET, BELOW, ANSWER, ANSWERED, CURSOR = range(5)


@dataclass(frozen=True, slots=True)
class PopulationShape:
    """Size of the population of one feature, whose values lie from `low` to `high`."""

    low: float
    high: float
    resolution: int
    unknown: float
    cursors: int

    @classmethod
    def of(cls, feature: Feature, cursors: int) -> PopulationShape:
        return cls(feature.low, feature.high, feature.resolution, feature.unknown, cursors)

    @property
    def lowest(self) -> int:
        return log_buckets.bucket_of(self.low, self.resolution)

    @property
    def buckets(self) -> int:
        return log_buckets.bucket_of(self.high, self.resolution) - self.lowest + 1

    @property
    def words(self) -> int:
        leaves = -(-self.buckets // 64)
        return HEADER + CURSOR * self.cursors + leaves + -(-leaves // 64) + self.buckets

    def write(self, block: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Write an empty population to a block of `words` int64, all 0."""
        import numpy as np

        leaves = -(-self.buckets // 64)
        block[FIRST_BUCKET] = log_buckets.first_bucket(self.resolution)
        block[MIN] = self.lowest
        block[RESOLUTION] = self.resolution
        block[BUCKETS] = self.buckets
        block[WORDS_AT] = HEADER + CURSOR * self.cursors
        block[TOP_AT] = block[WORDS_AT] + leaves
        block[COUNTS_AT] = block[TOP_AT] + -(-leaves // 64)
        block[UNKNOWN] = np.float64(self.unknown).view(np.int64)


BYTES_PER_SLOT = 8

Kind = Literal[
    "observations", "latest", "avg", "min", "max", "ewma", "sum", "bucket", "ring", "sorted", "table", "population"
]
Base = str
"""A block: `entity`, `system`, or the result of `base_at` for an occasion."""


def base_at(occasion: str) -> Base:
    """Return the block of the statistics that observe at an occasion."""
    return f"at {occasion}"


def base_of(statistic: ir.Statistic, occasions: Mapping[str, str]) -> Base:
    """Return the block of an entity's or the system's statistic; `occasions` is `Signature.occasions`."""
    is_observed = statistic.scope == "system" and statistic.feature in occasions
    return base_at(occasions[statistic.feature]) if is_observed else statistic.scope


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A piece of state that statistics of a feature share; `argument` is an average's alpha or a window's length.

    - `observations`: their count, an int64
    - `latest`, `avg`, `min`, `max`, `ewma`: the statistic itself
    - `ring`: the latest observations; the i-th from 0 is at i modulo the length
    - `sum`: the sum over a window
    - `sorted`: a window's observations in ascending order, the oldest of equals first
    - `table`: a window's observations as a hash table, each with its count
    - `bucket`: the number from 1 of the population's bucket that counts the entity, 0 for none, an int64
    - `population`: see `PopulationShape`
    """

    kind: Kind
    feature: str = ""
    argument: float = 0.0


OBSERVATIONS = Part("observations")


def parts_of(statistic: ir.Statistic, occasions: Mapping[str, str] | None = None) -> tuple[tuple[Base, Part], ...]:
    """Return the parts that a statistic needs, each with its block; `occasions` are those of features."""
    feature, last = statistic.feature, statistic.arguments[-1] if statistic.arguments else 0.0
    if statistic.scope == "population":
        return ("entity", Part("bucket", feature)), ("system", Part("population", feature))
    base = base_of(statistic, occasions or {})
    ring = Part("ring", feature)
    match statistic.kind:
        case "latest":
            found = [Part("latest", feature)]
        case "min" | "max" | "ewma" as kind:  # an entity's first observation is its `enter`
            found = [Part(kind, feature, last), *([OBSERVATIONS] if base != "entity" else [])]
        case "avg":
            found = [Part("avg", feature), OBSERVATIONS]
        case "recent":
            found = [OBSERVATIONS, ring]
        case "window_avg":
            found = [OBSERVATIONS, Part("sum", feature, last), ring]
        case "window_percentile":
            found = [OBSERVATIONS, Part("sorted", feature, last), ring]
        case "count" | "contains":  # scanning an entity's few observations is faster than hashing
            found = [OBSERVATIONS, *([Part("table", feature, last)] if base != "entity" else []), ring]
        case _:
            raise AssertionError(statistic)
    return tuple((base, part) for part in found)


def table_bits(window: float) -> int:
    """Return the binary logarithm of the size of a window's hash table: at most half of its slots are used."""
    return int(2 * window - 1).bit_length()


@dataclass(frozen=True)
class Block:
    """The parts of one block, in memory order; `lengths` are their float64 slots."""

    lengths: Mapping[Part, int]

    @property
    def slots(self) -> int:
        return sum(self.lengths.values())

    @cached_property
    def starts(self) -> Mapping[Part, int]:
        """The first slot of each part."""
        starts, end = {}, 0
        for part, length in self.lengths.items():
            starts[part] = end
            end += length
        return starts

    def of_kind(self, kind: Kind) -> tuple[Part, ...]:
        return tuple(part for part in self.lengths if part.kind == kind)

    def initial(
        self, declared: Mapping[str, Feature], shapes: Mapping[str, PopulationShape]
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the block before any observation, shape (slots,)."""
        import numpy as np

        block = np.zeros(self.slots)
        for part, start in self.starts.items():
            place = block[start : start + self.lengths[part]]
            match part.kind:
                case "latest" | "avg" | "min" | "max" | "ewma" | "sum" | "ring" | "sorted":
                    place[:] = declared[part.feature].unknown
                case "population":
                    shapes[part.feature].write(place.view(np.int64))
        return block


def block_of(
    statistics: Iterable[ir.Statistic],
    base: Base,
    shapes: Mapping[str, PopulationShape] | None = None,
    occasions: Mapping[str, str] | None = None,
) -> Block:
    """Return the block of a base. `shapes`, by feature, is required for the system's if it has populations."""
    lengths: dict[Part, int] = {}
    for statistic in statistics:
        for _, part in filter(lambda found: found[0] == base, parts_of(statistic, occasions)):
            lengths[part] = max(lengths.get(part, 0), _length(part, statistic, shapes or {}))
    # short parts, which every event and query touches, come first, and so share few cache lines
    return Block(dict(sorted(lengths.items(), key=lambda item: (item[1], item[0].kind != "observations", item[0]))))


def _length(part: Part, statistic: ir.Statistic, shapes: Mapping[str, PopulationShape]) -> int:
    match part.kind:
        case "ring":
            return int(statistic.arguments[-1])
        case "sorted":
            return int(part.argument)
        case "table":
            return 2 << table_bits(part.argument)
        case "population":
            return shapes[part.feature].words
        case _:
            return 1


def shapes_of(statistics: Iterable[ir.Statistic], declared: Mapping[str, Feature]) -> dict[str, PopulationShape]:
    """Return the populations whose percentiles are requested, by feature."""
    asked = [s.feature for s in statistics if s.scope == "population"]
    return {feature: PopulationShape.of(declared[feature], asked.count(feature)) for feature in sorted(set(asked))}


@dataclass(frozen=True)
class StateSlots:
    """Layout of a program's own state.

    Registers, arrays and, where numbers are drawn, the generator's state (an int64) lie behind all statistics of the
    system; fields lie behind the statistics of each entity.
    """

    variables: tuple[ir.Variable, ...]
    draws: bool

    @cached_property
    def starts(self) -> Mapping[str, int]:
        """The first slot of each register and array; registers come first, and so share few cache lines."""
        starts, end = {}, int(self.draws)
        for variable in sorted((v for v in self.variables if not v.is_field), key=lambda v: v.length or 0):
            starts[variable.name] = end
            end += variable.length or 1
        return starts

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """The elements of each array."""
        return {v.name: v.length for v in self.variables if v.length is not None}

    @cached_property
    def fields(self) -> Mapping[str, int]:
        """The slot of each field, from the first one behind the statistics."""
        return {v.name: slot for slot, v in enumerate(v for v in self.variables if v.is_field)}

    @cached_property
    def slots(self) -> int:
        return int(self.draws) + sum(v.length or 1 for v in self.variables if not v.is_field)

    def initial(self, parameters: Mapping[str, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the state of the system before any event, shape (slots,), with the generator at 0."""
        import numpy as np

        block = np.zeros(self.slots)
        for variable in self.variables:
            if not variable.is_field:
                start = self.starts[variable.name]
                block[start : start + (variable.length or 1)] = variable.value(parameters)
        return block

    def initial_fields(self, parameters: Mapping[str, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the fields of a new entity, shape (fields,)."""
        import numpy as np

        return np.array([v.value(parameters) for v in self.variables if v.is_field], np.float64)
