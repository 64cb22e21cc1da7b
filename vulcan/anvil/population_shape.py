"""The block of memory of one population: how large it is, and how an empty one is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vulcan.anvil import quantise
from vulcan.task import Feature

# Words of the header
LIVE, FIRST_BUCKET, LOWEST, RESOLUTION, BUCKETS, WORDS_AT, TOP_AT, COUNTS_AT, UNKNOWN, HEADER = range(10)

# Words of a cursor: the bucket it is at, the values below that bucket, its latest answer, and whether that still holds
BUCKET, BELOW, ANSWER, ANSWERED, CURSOR = range(5)


@dataclass(frozen=True, slots=True)
class PopulationShape:
    """The size of the population of one feature, whose values lie from `low` to `high`."""

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
        return quantise.bucket_of(self.low, self.resolution)

    @property
    def buckets(self) -> int:
        return quantise.bucket_of(self.high, self.resolution) - self.lowest + 1

    @property
    def words(self) -> int:
        leaves = -(-self.buckets // 64)
        return HEADER + CURSOR * self.cursors + leaves + -(-leaves // 64) + self.buckets

    def write(self, block: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Write an empty population to a block of `words` int64, all 0."""
        leaves = -(-self.buckets // 64)
        block[FIRST_BUCKET] = quantise.first_bucket(self.resolution)
        block[LOWEST] = self.lowest
        block[RESOLUTION] = self.resolution
        block[BUCKETS] = self.buckets
        block[WORDS_AT] = HEADER + CURSOR * self.cursors
        block[TOP_AT] = block[WORDS_AT] + leaves
        block[COUNTS_AT] = block[TOP_AT] + -(-leaves // 64)
        block[UNKNOWN] = np.float64(self.unknown).view(np.int64)
