"""Declarations shared by the cache tasks: time, object, goals, and settings for traces and cache sizes."""

from __future__ import annotations

from functools import partial

from vulcan.task import (
    MAX_EXACT_INTEGER,
    Argument,
    Event,
    Feature,
    Property,
    Scalar,
    Setting,
    event,
    relative_reduction,
)

MAX_REQUESTS = float(2**40)
MAX_OBJECTS = float(2**32)
TIME_RESOLUTION = 12
"""Ages are differences of times: 7 bits of a late time would be too coarse for them."""

IN_ORDER = "obj.insertion <= obj.last_access <= now"
"""Invariants of every cache that the declared ranges do not express."""

FINITE = Property.finite(
    "a priority stays within +-1e300, where it would be clamped and objects look alike; `cache.evicted_priority`, on "
    "which it may build, being within +-1e250",
    f"{IN_ORDER} and -1e250 <= cache.evicted_priority <= 1e250",
)


def _time(name: str, meaning: str) -> Feature:
    return Feature(name, "int", "requests", 0.0, MAX_REQUESTS, meaning, resolution=TIME_RESOLUTION)


NOW = Scalar(_time("now", "the time: the number of the current request, from 0"))
ID = Feature("id", "int", "identity", 0.0, float(2**32), "identifies the object and means nothing else")
MAX_OBJECT_SIZE = float(2**48)
SIZE = Feature("size", "int", "bytes", 1.0, MAX_OBJECT_SIZE, "its size")
COUNT = Feature("count", "int", "requests", 1.0, MAX_REQUESTS, "requests for it since it entered, that one included")
LAST_ACCESS = _time("last_access", "the time of the latest request for it")
INSERTION = _time("insertion", "the time at which it entered the cache")
USED = Feature("used", "int", "bytes", 0.0, MAX_EXACT_INTEGER, "bytes that are occupied")
CAPACITY = Feature("capacity", "int", "bytes", 1.0, MAX_EXACT_INTEGER, "bytes that it can hold")
OBJECTS = Feature("objects", "int", "objects", 0.0, float(2**32), "how many objects it holds")
EVICTED_PRIORITY = Feature(
    "evicted_priority",
    "float",
    "priority",
    -1e300,
    1e300,
    "the priority at which the latest evicted object left, 0 before the first (the inflation L of GreedyDual)",
)


_over_fifo = partial(relative_reduction, reference="fifo", form=".1%", usual=("lru",), lowest=-1.0, highest=1.0)

OBJECTIVES = (
    _over_fifo("miss_ratio", "object", "the miss ratio", label="misses"),
    _over_fifo("byte_miss_ratio", "byte", "the byte miss ratio", label="of bytes missed"),
)
"""Those of PolicySmith (HotNets 2025)."""

WORKLOAD = (
    Setting(
        "trace",
        "text",
        "a trace file, or a generated one such as zipf:alpha=0.9; default: generated workloads",
        repeatable=True,
    ),
    Setting(
        "cache_size",
        "text",
        "bytes (64MiB), a share of the footprint (10%) or objects (1000obj)",
        "10%",
        repeatable=True,
    ),
)

SAMPLING = (
    Setting("sample_size", "int", "objects drawn at an eviction by the mechanism `sample`", 16),
    Setting("sample_seed", "int", "seed of that draw", 1),
)

READING = (
    Setting("trace_format", "text", "the format of the trace files; default: detected"),
    Setting("columns", "text", "where a CSV or text trace has its columns"),
    Setting("page_size", "text", "split the I/Os of block traces into pages of this size, as 4KiB"),
    Setting("skip_bad_lines", "flag", "leave out lines that cannot be read, and say how many"),
    Setting("unit_sizes", "flag", "count every object as one byte"),
)

_EVENTS = {
    "on_hit": "A request hit: `obj` is in the cache, and counts the request already.",
    "on_ghost_hit": "A request missed an object that the ghost list remembers; `on_miss` follows. {described}",
    "on_miss": "A request missed an object that fits into the cache. {described}",
    "on_refuse": "The object that was missed is not let in. {described}",
    "on_evict": "`obj` is about to leave the cache. It is still counted in `cache`.",
    "on_insert": "The object that was missed has entered the cache.",
}
_DESCRIBED = "`obj` looks as if it had just entered, but `cache` does not count it."


def cache_events(arguments: tuple[Argument, ...], at_a_hit: tuple[Argument, ...] = ()) -> tuple[Event, ...]:
    """Declare the events of a cache. `at_a_hit` are further arguments of `on_hit`."""
    return tuple(
        event(name, arguments + (at_a_hit if name == "on_hit" else ()), meaning.format(described=_DESCRIBED))
        for name, meaning in _EVENTS.items()
    )
