"""The traces of `benchmarks.cache_instances`: which there are, which are held out, and which instances count.

    python -m benchmarks.instance_traces DIRECTORY

writes those for training as DIRECTORY/NAME.oracleGeneral, for `vulcan library build`. The division and the rule were
fixed before any result on a held-out trace had been looked at.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import harness
from vulcan_traces import Trace, load_trace
from vulcan_traces.storage.export import write_requests

DATA = harness.DATA / "cache"
SIZES = ("0.1%", "1%", "10%")
"""Of the footprint, in bytes."""

OBJECTIVES = ("object", "byte")
"""Metrics that coincide if all objects have one size; they then count once, as `object`."""

SPLIT_SEED = 1

MAX_COLD = 0.95
"""A trace with a higher share of first requests is left out as a whole: no policy can win anything on it."""

MIN_HEADROOM = 0.01
"""An instance is left out where FIFO misses at most this share more than the bound: Belady's MIN, or where sizes differ
the lower one of it and its version by sampled sizes."""

MIN_OBJECTS = 10
"""An instance is left out where the cache holds fewer objects of the trace's mean size: there is nothing to choose."""


@dataclass(frozen=True, slots=True)
class Source:
    """A trace file below DATA. `group` are traces that stay on one side of the split, as they share requests."""

    name: str
    path: str
    family: str
    format: str | None = None
    group: str = ""
    generated: bool = False

    def load(self) -> Trace:
        return load_trace(DATA / self.path, format=self.format)

    @property
    def unit(self) -> str:
        return self.group or self.name


_LIRS_MIXES = "cs, cpp, gli, ps and the mixes multi1 to multi3 of them"
SOURCES = (
    Source("arc_OLTP", "arc/OLTP.lis.zst", "arc"),
    Source("arc_P3", "arc/P3.lis.zst", "arc"),
    Source("arc_P6", "arc/P6.lis.zst", "arc"),
    Source("cp_sample", "libcachesim/cloudPhysicsIO.oracleGeneral.bin", "block"),
    Source("cp_w106", "caffeine/cloud_physics/w106.trace.xz", "block", "be-u32"),
    Source("tcbs_1326", "tencent/tencentBlock.ns1326.sample.csv", "block"),
    Source("tcbs_1360", "tencent/tencentBlock.ns1360.sample.csv", "block"),
    Source("tcbs_3300", "tencent/tencentBlock.ns3300.sample.csv", "block"),
    Source("tcbs_3906", "tencent/tencentBlock.ns3906.sample.csv", "block"),
    Source("mq_wsrch", "mqsim/wsrch-small.trace", "block"),
    Source("mq_tpcc", "mqsim/tpcc-small.trace", "block"),
    Source("scarab_recs", "caffeine/scarab/scarab-recs.trace.xz", "application", "be-i64"),
    Source("corda_vault", "caffeine/corda/trace_vaultservice.gz", "application", "be-i64"),
    Source("c2k_orm_busy", "caffeine/cache2k/orm-busy.trace.xz", "application", "be-i32"),
    Source("mooncake_conv", "mooncake/conversation_trace.jsonl", "application"),
    Source("c2k_web07", "caffeine/cache2k/web07.trace.xz", "web", "be-i32"),
    Source("adaptsize", "caffeine/adapt_size/request.trace.xz", "web"),
    Source("lirs_2_pools", "caffeine/lirs/2_pools.trace.gz", "lirs"),
    Source("lirs_cpp", "caffeine/lirs/cpp.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_cs", "caffeine/lirs/cs.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_gli", "caffeine/lirs/gli.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_loop", "caffeine/lirs/loop.trace.gz", "lirs"),
    Source("lirs_multi1", "caffeine/lirs/multi1.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_multi2", "caffeine/lirs/multi2.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_multi3", "caffeine/lirs/multi3.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_ps", "caffeine/lirs/ps.trace.gz", "lirs", group=_LIRS_MIXES),
    Source("lirs_scan", "caffeine/lirs/scan.trace.gz", "lirs"),
    Source("lirs_sprite", "caffeine/lirs/sprite.trace.gz", "lirs"),
    Source("lirs_zigzag", "caffeine/lirs/zigzag.trace.gz", "lirs"),
    Source("tragen_download", "derived/tragen_tc0_download.oracleGeneral.bin.zst", "generated", generated=True),
    Source("tragen_social", "derived/tragen_eu3_social.oracleGeneral.bin.zst", "generated", generated=True),
    Source("syn_kvcache", "derived/syn_kvcache_reg.oracleGeneral.bin.zst", "generated", generated=True),
)

NEARLY_ALL_COLD = ("mq_wsrch", "mq_tpcc", "tcbs_1360")
"""Instances excluded by MAX_COLD, by their published share of cold misses; named because the split reads no trace."""


def split() -> Mapping[str, str]:
    """`train` or `held-out` for each trace that counts.

    In each family the units (a trace, or a group) are shuffled and go to the two sides in turn; the side that comes
    first goes on from family to family. Generated traces are for training only.
    """
    rng = np.random.default_rng(SPLIT_SEED)
    sides, turn = ("train", "held-out"), 0
    found: dict[str, str] = {}
    for family in dict.fromkeys(source.family for source in SOURCES):
        members = [s for s in SOURCES if s.family == family and s.name not in NEARLY_ALL_COLD]
        if members[0].generated:
            found.update({source.name: "train" for source in members})
            continue
        units = list(dict.fromkeys(source.unit for source in members))
        for unit in rng.permutation(units):
            found.update({source.name: sides[turn] for source in members if source.unit == unit})
            turn = 1 - turn
    return found


def counted() -> Iterator[Source]:
    """Return the traces that count, in order."""
    return (source for source in SOURCES if source.name not in NEARLY_ALL_COLD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    sides = split()
    for source in counted():
        if sides[source.name] == "train":
            write_requests(source.load(), directory / f"{source.name}.oracleGeneral", replace=True)


if __name__ == "__main__":
    main()
