"""Cache eviction: which object leaves when the cache is full."""

from pathlib import Path

from vulcan.task import (
    LARGEST_EXACT_INTEGER,
    Entity,
    Feature,
    Global,
    History,
    Mechanism,
    Objective,
    Property,
    Rank,
    Scalar,
    Setting,
    Task,
)

MOST_REQUESTS = float(2**40)
IN_ORDER = "obj.insertion <= obj.last_access <= now"  # what the declared ranges do not say, and every cache keeps
TIME_RESOLUTION = 12  # ages are differences of times: 7 bits of a late time would be too coarse for them


def _improvement(ratio: float, fifo: float) -> float:
    """Symmetric improvement over FIFO, from -1 to 1 (PolicySmith, HotNets 2025)."""
    if ratio == fifo:
        return 0.0
    return (fifo - ratio) / fifo if ratio < fifo else (fifo - ratio) / ratio


def _over_fifo(metric: str) -> Objective:
    kind = metric.removesuffix("_ratio").replace("_", " ")
    return Objective(
        name="object" if metric == "miss_ratio" else "byte",
        metric=metric,
        meaning=f"relative reduction of the {kind} ratio against FIFO: (fifo - x) / max(fifo, x), from -1 to 1",
        score=lambda metrics, references: _improvement(metrics[metric], references["fifo"][metric]),
        references=("fifo",),
    )


NOW = Scalar(
    Feature(
        "now", "int", "requests", 0.0, MOST_REQUESTS,
        "the time: the number of the current request, from 0", resolution=TIME_RESOLUTION,
    )
)  # fmt: skip

OBJECT = Entity(
    name="obj",
    meaning="the object to be scored",
    features=(
        Feature("id", "int", "identity", 0.0, float(2**32), "identifies the object and means nothing else"),
        Feature("size", "int", "bytes", 1.0, float(2**32), "its size"),
        Feature("count", "int", "requests", 1.0, MOST_REQUESTS, "requests for it since it entered, that one included"),
        Feature(
            "last_access", "int", "requests", 0.0, MOST_REQUESTS,
            "the time of the latest request for it", resolution=TIME_RESOLUTION,
        ),
        Feature(
            "insertion", "int", "requests", 0.0, MOST_REQUESTS,
            "the time at which it entered the cache", resolution=TIME_RESOLUTION,
        ),
    ),
    key="id",
    population="cache",
)  # fmt: skip

CACHE = Global(
    name="cache",
    meaning="the whole cache",
    features=(
        Feature("used", "int", "bytes", 0.0, LARGEST_EXACT_INTEGER, "bytes that are occupied"),
        Feature("capacity", "int", "bytes", 1.0, LARGEST_EXACT_INTEGER, "bytes that it can hold"),
        Feature("objects", "int", "objects", 0.0, float(2**32), "how many objects it holds"),
        Feature(
            "evicted_priority", "float", "priority", -1e300, 1e300,
            "the priority at which the latest evicted object left, 0 before the first (the inflation L of GreedyDual)",
        ),
    ),
)  # fmt: skip

GHOST = History(
    name="ghost",
    meaning="the ghost list: the objects evicted most recently, as many as the cache holds; one that comes back "
    "stays listed until later evictions push it out",
    entity="obj",
    count_of="count",
    age_unit="requests",
)

SAMPLE = Mechanism(
    "sample",
    "When space is needed, {sample_size} objects of the cache are drawn at random, `priority` is called for each at "
    "that moment, and the one with the lowest priority is evicted. So `now - obj.last_access` is the object's true "
    "idle time.",
)
HEAP = Mechanism(
    "heap",
    "`priority` is called for an object when it enters the cache and whenever it is requested, and kept; when space "
    "is needed, the object with the lowest kept priority is evicted, the longest untouched of equals. So "
    "`now - obj.last_access` is 0 whenever `priority` is called, and a priority stays as it is until the next request "
    "for its object.",
)

TASK = Task(
    name="cache_eviction",
    summary="Choose which object leaves a cache when space is needed, so that as many requests as possible hit.",
    signature=Rank(
        function="priority",
        arguments=(NOW, OBJECT, CACHE, GHOST),
        returns="the object's priority to stay: the object with the lowest priority is evicted",
        mechanisms=(SAMPLE, HEAP),
    ),
    evaluator="vulcan_cache.evaluator:CacheEvaluator",
    objectives=(_over_fifo("miss_ratio"), _over_fifo("byte_miss_ratio")),
    directory=Path(__file__).parent,
    settings=(
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
        Setting("mechanism", "text", "how priorities are used", "sample", choices=("sample", "heap")),
        Setting("sample_size", "int", "objects drawn at an eviction by the mechanism `sample`", 16),
        Setting("sample_seed", "int", "seed of that draw", 1),
        Setting("trace_format", "text", "the format of the trace files; default: detected"),
        Setting("columns", "text", "where a CSV or text trace has its columns"),
        Setting("skip_bad_lines", "flag", "leave out lines that cannot be read, and say how many"),
        Setting("unit_sizes", "flag", "count every object as one byte"),
    ),
    properties=(
        Property("finite and bounded", "bounded", "the priority stays within +-1e300", low=-1e300, high=1e300),
        Property(
            "more requests, no lower priority", "nondecreasing", "all else equal", subject="obj.count", when=IN_ORDER
        ),
        Property(
            "later access, no lower priority",
            "nondecreasing",
            "all else equal",
            subject="obj.last_access",
            when=IN_ORDER,
        ),
        Property("blind to identity", "independent", "an object's number says nothing about it", subject="obj.id"),
    ),
    advice=(
        "Recency, frequency, size and the ghost list all carry signal; which matters depends on the workload.",
        "Only the order of priorities counts, not their scale.",
    ),
)
