"""Generated memory workloads: `kind:key=value,key=value`.

    gups         random updates of a table with a moving hot set   pages, hot_pages, hot_share, updates_a_move
    pagerank     PageRank by pulling                               graph, scale, degree
    bfs          breadth-first searches from random vertices       graph, scale, degree
    betweenness  Brandes' algorithm from random vertices           graph, scale, degree
    ycsb         a B+-tree over records under a mix of YCSB        records, record_size, mix, theta, shift,
                                                                   operations_a_shift, longest_scan
    tpcc         transactions like those of TPC-C                  warehouses, hot_share, transactions_a_move
    stream       STREAM's triad over three arrays                  pages

Each runs the real algorithm behind a cache of `cache` bytes and records what misses it. Every kind also takes
`intervals`, `loads` (cache lines read from memory in each interval), `page_size` (in bytes, a power of two; by default
what the task's setting says), `seed`, `overlap` and `compute` (see `PageCounts`; by default what the algorithm
suggests) and `name` (a label, no part of the content). `graph` is kronecker or uniform,
with 2^scale vertices and `degree` edges for each; `mix` one of YCSB's a to f.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.memory.page_counts import PageCounts, in_order_of_first_touch
from vulcan_traces.synthetic.specification import Key, Specification, Values, number, parse_keys, parse_kind, whole

if TYPE_CHECKING:
    from vulcan_traces.memory.kernels.recorder import Recorder

VERSION = 1
"""Part of every digest: to be raised when the same specification gives other counts."""

MIXES = {
    "a": (0.5, 0.5, 0.0, 0.0),
    "b": (0.95, 0.05, 0.0, 0.0),
    "c": (1.0, 0.0, 0.0, 0.0),
    "d": (0.95, 0.0, 0.05, 0.0),
    "e": (0.0, 0.0, 0.05, 0.95),
    "f": (0.5, 0.0, 0.0, 0.0),
}
"""Shares of reads, updates, inserts and scans; the rest are read-modify-writes. Mix d reads by Zipf, not the latest."""


@dataclass(frozen=True, slots=True)
class Kind:
    """`keys` besides the common ones; `overlap` and `compute` unless given; `run` makes a recorder and fills it.

    `run(values, page_size, new)` calls `new(bytes of the address space)` for the recorder and returns it.
    """

    keys: Mapping[str, Key]
    overlap: float
    compute: float
    run: Callable[[Values, int, Callable[[int], Recorder]], Recorder]


def parse_workload(text: str) -> Specification:
    """Raises UserError for an unknown kind or key and for a value that makes no sense."""
    kind = parse_kind(text, KINDS, "memory workload")
    found = KINDS[kind]
    keys = {
        **_COMMON,
        "overlap": Key(found.overlap, 0.01, 1000),
        "compute": Key(found.compute, 0, 1e6),
        **found.keys,
    }
    parsed = parse_keys(text, keys)
    _check_together(text, parsed.values)
    return parsed


def record_workload(parsed: Specification, digest: str, page_size: int) -> PageCounts:
    """Run the algorithm: the same counts for the same specification."""
    from vulcan_traces.memory.kernels.recorder import SEEN, new_recorder

    values = parsed.values

    def new(address_space: int) -> Recorder:
        cache, intervals, loads, seed = (whole(values, key) for key in ("cache", "intervals", "loads", "seed"))
        return new_recorder(address_space, page_size, cache, intervals, loads, seed)

    recorder = KINDS[parsed.kind].run(values, page_size, new)
    order = recorder.order[: recorder.at[SEEN]]
    made = in_order_of_first_touch(recorder.loads, recorder.stores, order)
    overlap, compute = number(values, "overlap"), number(values, "compute")
    return PageCounts(parsed.name, digest, page_size, *made, overlap=overlap, compute=compute)


def _check_together(text: str, values: Values) -> None:
    cache = whole(values, "cache")
    if cache & (cache - 1):
        raise UserError(f"{text}: cache={cache}: a power of two is needed")
    if "hot_pages" in values and whole(values, "hot_pages") > whole(values, "pages"):
        raise UserError(f"{text}: more hot_pages than pages")
    if whole(values, "intervals") * whole(values, "loads") > 2**36:
        raise UserError(f"{text}: intervals times loads is over 2^36: this would take hours")


def _gups(values: Values, page_size: int, new: Callable[[int], Recorder]) -> Recorder:
    from vulcan_traces.memory.kernels.gups import WORD, run_gups

    recorder = new(whole(values, "pages") * page_size)
    words, hot = (whole(values, key) * page_size // WORD for key in ("pages", "hot_pages"))
    run_gups(recorder, words, hot, number(values, "hot_share"), whole(values, "updates_a_move"))
    return recorder


def _stream(values: Values, page_size: int, new: Callable[[int], Recorder]) -> Recorder:
    from vulcan_traces.memory.kernels.stream import ELEMENT, run_stream

    recorder = new(whole(values, "pages") * page_size)
    a, b, c = np.ones((3, max(1, whole(values, "pages") * page_size // ELEMENT // 3)))
    run_stream(recorder, a, b, c, 3.0)
    return recorder


def _graph(algorithm: str) -> Callable[[Values, int, Callable[[int], Recorder]], Recorder]:
    def run(values: Values, page_size: int, new: Callable[[int], Recorder]) -> Recorder:
        import importlib

        from vulcan_traces.memory.kernels.graph import OFFSET, SCORE, VERTEX, make_graph

        module = importlib.import_module(f"vulcan_traces.memory.kernels.{algorithm}")
        kind = cast(str, values["graph"])
        graph = make_graph(kind, *(whole(values, key) for key in ("scale", "degree", "seed")))
        space = len(graph.offsets) * (OFFSET + 6 * SCORE) + len(graph.neighbours) * VERTEX
        recorder = new(space)
        getattr(module, f"run_{algorithm}")(recorder, graph)
        return recorder

    return run


def _ycsb(values: Values, page_size: int, new: Callable[[int], Recorder]) -> Recorder:
    from vulcan_traces.memory.kernels.btree import NODE, most_nodes, new_tree, run_ycsb

    records, record_size = whole(values, "records"), whole(values, "record_size")
    mix = MIXES[cast(str, values["mix"])]
    most = records if not mix[2] else records * 2
    at_records = -(-most_nodes(most) * NODE // page_size) * page_size
    recorder = new(at_records + most_nodes(most) * 31 * record_size)
    run_ycsb(
        recorder,
        new_tree(most),
        records,
        record_size,
        number(values, "theta"),
        np.array(mix),
        whole(values, "longest_scan"),
        whole(values, "operations_a_shift"),
        number(values, "shift"),
        at_records,
    )
    return recorder


def _tpcc(values: Values, page_size: int, new: Callable[[int], Recorder]) -> Recorder:
    from vulcan_traces.memory.kernels.tpcc import run_tpcc, table_sizes

    warehouses = whole(values, "warehouses")
    rounded = [-(-size // page_size) * page_size for size in table_sizes(warehouses)]
    places = tuple(int(place) for place in np.cumsum([0, *rounded]))
    recorder = new(places[-1])
    run_tpcc(recorder, warehouses, places[:-1], number(values, "hot_share"), whole(values, "transactions_a_move"))
    return recorder


_COMMON = {
    "intervals": Key(50, 2, 100_000),
    "loads": Key(200_000, 1, 2**31),
    "cache": Key(2**17, 128, 2**30),
    "seed": Key(0, 0, 2**31 - 1),
    "page_size": Key(0, 0, 2**30),
}
_GRAPH = {
    "graph": Key("kronecker", choices=("kronecker", "uniform")),
    "scale": Key(16, 1, 26),
    "degree": Key(16, 1, 256),
}
_PAGES = Key(8192, 3, 2**22)

KINDS: dict[str, Kind] = {
    "gups": Kind(
        {
            "pages": _PAGES,
            "hot_pages": Key(800, 1, 2**22),
            "hot_share": Key(0.9, 0, 1),
            "updates_a_move": Key(2_000_000, 0, 2**40),
        },
        overlap=8.0,
        compute=5.0,
        run=_gups,
    ),
    "pagerank": Kind(_GRAPH, overlap=6.0, compute=5.0, run=_graph("pagerank")),
    "bfs": Kind(_GRAPH, overlap=4.0, compute=5.0, run=_graph("bfs")),
    "betweenness": Kind(_GRAPH, overlap=4.0, compute=10.0, run=_graph("betweenness")),
    "ycsb": Kind(
        {
            "records": Key(48_000, 32, 2**26),
            "record_size": Key(512, 8, 65536),
            "mix": Key("b", choices=tuple(MIXES)),
            "theta": Key(0.99, 0.01, 0.999),
            "operations_a_shift": Key(0, 0, 2**40),
            "shift": Key(0.01, 0, 1),
            "longest_scan": Key(50, 1, 10_000),
        },
        overlap=2.0,
        compute=40.0,
        run=_ycsb,
    ),
    "tpcc": Kind(
        {
            "warehouses": Key(10, 1, 10_000),
            "hot_share": Key(0.125, 0, 1),
            "transactions_a_move": Key(0, 0, 2**40),
        },
        overlap=2.0,
        compute=40.0,
        run=_tpcc,
    ),
    "stream": Kind({"pages": _PAGES}, overlap=10.0, compute=2.0, run=_stream),
}

_TRAIN = (
    # random updates of a hot tenth of memory, which moves every ten intervals
    "gups:name=gups-moving,seed=1,updates_a_move=2000000",
    # a skewed graph: the ranks of all vertices are hot, the edges are read once an iteration
    "pagerank:name=pagerank-kronecker,seed=2,scale=17,degree=12",
    # a new frontier with every step of every search
    "bfs:name=bfs-uniform,seed=3,graph=uniform,scale=17,degree=12",
    # a key-value store, read mostly, whose popular keys change slowly
    "ycsb:name=ycsb-b-drift,seed=4,mix=b,operations_a_shift=5000,shift=0.005",
    # transactions, of which two in three go to warehouses that change
    "tpcc:name=tpcc-hot-warehouses,seed=5,hot_share=0.66,transactions_a_move=15000",
)
_VALIDATION = (
    "gups:name=gups-slow-moves,seed=11,hot_pages=1600,hot_share=0.8,updates_a_move=4000000",
    "betweenness:name=betweenness-uniform,seed=12,graph=uniform,scale=16",
    "ycsb:name=ycsb-a,seed=13,mix=a,theta=0.9",
    # nothing is hot: every move is wasted
    "stream:name=stream,seed=14,pages=6000",
)
_TEST = (
    "gups:name=gups-fast-moves,seed=21,hot_pages=500,hot_share=0.95,updates_a_move=1200000",
    "pagerank:name=pagerank-uniform,seed=22,graph=uniform,scale=17,degree=12",
    "bfs:name=bfs-kronecker,seed=23,scale=17,degree=12",
    "betweenness:name=betweenness-kronecker,seed=24,scale=17,degree=8",
    # short scans, and new records all the time
    "ycsb:name=ycsb-e,seed=25,mix=e,theta=0.9,longest_scan=20",
    "tpcc:name=tpcc,seed=26",
)

_HUGE = "page_size=2097152,cache=4194304,loads=3000000"

_TRAIN_HUGE = (
    # the same kinds in gigabytes: a huge page has what is hot and what is not, and copying one takes a while
    f"gups:name=gups-huge-pages,seed=6,{_HUGE},pages=1024,hot_pages=100,updates_a_move=30000000",
    f"ycsb:name=ycsb-b-huge-pages,seed=7,{_HUGE},records=500000,record_size=4096,mix=b",
)
_VALIDATION_HUGE = (
    f"tpcc:name=tpcc-huge-pages,seed=15,{_HUGE},warehouses=750,hot_share=0.66,transactions_a_move=200000",
)
_TEST_HUGE = (
    f"gups:name=gups-huge-pages-smaller-hot-set,seed=27,{_HUGE},pages=1024,hot_pages=60,updates_a_move=20000000",
    f"ycsb:name=ycsb-a-huge-pages,seed=28,{_HUGE},records=500000,record_size=4096,mix=a,theta=0.9",
)

MEMORY_WORKLOADS: dict[str, dict[str, tuple[str, ...]]] = {
    "small-pages": {"train": _TRAIN, "validation": _VALIDATION, "test": _TEST},
    "huge-pages": {"train": _TRAIN_HUGE, "validation": _VALIDATION_HUGE, "test": _TEST_HUGE},
}
"""Specifications for `load_page_counts`, by the size of pages and the split they belong to.

Those in pages of 4 KiB have ten million loads in 50 intervals, those of 2 GiB in huge pages 150 million.
"""
