"""Cache eviction: which object leaves when the cache is full."""

from pathlib import Path

from vulcan.task import Entity, Global, History, Mechanism, Property, Rank, Task
from vulcan_cache.interface import (
    CAPACITY,
    COUNT,
    EVICTED_PRIORITY,
    FINITE,
    ID,
    IN_ORDER,
    INSERTION,
    LAST_ACCESS,
    NOW,
    OBJECTIVES,
    OBJECTS,
    RANKING,
    READING,
    SIZE,
    USED,
    WORKLOAD,
    cache_events,
)

OBJECT = Entity(
    name="obj",
    meaning="the object to be scored",
    features=(ID, SIZE, COUNT, LAST_ACCESS, INSERTION),
    key="id",
    population="cache",
)

CACHE = Global(
    name="cache",
    meaning="the whole cache",
    features=(USED, CAPACITY, OBJECTS, EVICTED_PRIORITY),
)

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
    simultaneous=True,
)
HEAP = Mechanism(
    "heap",
    "`priority` is called for an object when it enters the cache and whenever it is requested, and kept; when space "
    "is needed, the object with the lowest kept priority is evicted, the longest untouched of equals. So "
    "`now - obj.last_access` is 0 whenever `priority` is called, and a priority stays as it is until the next request "
    "for its object.",
    late_gain=0.05,  # docs/results/search.md#mechanism
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
    objectives=OBJECTIVES,
    directory=Path(__file__).parent,
    settings=(*WORKLOAD, *RANKING, *READING),
    events=cache_events((NOW, OBJECT, CACHE, GHOST), admits=False),
    assumptions=(IN_ORDER, "obj.insertion <= now"),
    properties=(
        FINITE,
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
