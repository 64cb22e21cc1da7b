"""The machine: two tiers of memory, and the processor in front of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Tier:
    """Idle latency of a load in nanoseconds; the bandwidths of reads and of writes in GB/s, which are bytes a ns."""

    latency: float
    read: float
    write: float
    source: str


TIERS = {
    "dram": Tier(
        100.0,
        246.0,
        246.0,
        "100 ns: Maruf et al., TPP, ASPLOS 2023, figure 2; 246 GB/s: 80 % of the peak of eight channels of DDR5-4800",
    ),
    "cxl": Tier(
        250.0,
        36.0,
        36.0,
        "250 ns: the upper end of 170-250 ns in Maruf et al., TPP, ASPLOS 2023, figure 2; 36 GB/s: one Micron CZ120 on "
        "PCIe 5.0 x8 at two reads a write (the vendor's figure, 2023)",
    ),
    "nvm": Tier(
        305.0,
        39.4,
        13.9,
        "Optane DC, six modules interleaved: 305 ns random reads, 39.4 GB/s reads, 13.9 GB/s writes (Izraelevitz et "
        "al., Basic Performance Measurements of the Intel Optane DC Persistent Memory Module, 2019)",
    ),
}
"""Presets. DRAM may be the slow tier too, as that of another socket would be, were it slower."""

QUEUEING = 0.1
"""The share of a tier's latency that waiting adds at a load u, times u / (1 - u): see `vulcan_tiering.kernels.cost`.

An assumption, made so that latency has grown by a tenth at half of the bandwidth, and doubled at ten elevenths of it:
flat at first and steep at the end, as measured curves of latency under load are.
"""

LINE = 64.0
"""Bytes of a cache line."""


@dataclass(frozen=True, slots=True)
class Machine:
    """`threads` run the program; while `migration_stall` nanoseconds pass for each migrated page, none of them does.

    That is the time to unmap a page, tell all processors and map it again: some 4 us for an interrupt of all of them,
    shared by the 32 or more pages that are moved together.
    """

    fast: Tier
    slow: Tier
    threads: int = 16
    migration_stall: float = 100.0
    queueing: float = QUEUEING

    def numbers(self, page_size: int, overlap: float, compute: float, weight: float = 1.0) -> NDArray[np.float64]:
        """Return the parameters of the kernels, at the indices named in `vulcan_tiering.kernels.cost`.

        `overlap` is how many loads a thread has outstanding, `compute` the nanoseconds it computes for each; each page
        stands for `weight` ones.
        """
        return np.array(
            [
                self.fast.latency,
                self.fast.read,
                self.fast.write,
                self.slow.latency,
                self.slow.read,
                self.slow.write,
                self.threads * overlap,
                compute / self.threads,
                self.migration_stall,
                float(page_size),
                self.queueing,
                weight,
            ]
        )
