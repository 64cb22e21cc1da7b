"""Cache admission and eviction: which objects are let into a cache, and which leaves when it is full."""

from pathlib import Path

from vulcan.task import Entity, Feature, Global, History, Mechanism, Property, Rank, Task, Value
from vulcan_cache.interface import (
    CAPACITY,
    COUNT,
    EVICTED_PRIORITY,
    FINITE,
    ID,
    IN_ORDER,
    INSERTION,
    LAST_ACCESS,
    MAX_OBJECT_SIZE,
    MAX_REQUESTS,
    NOW,
    OBJECTIVES,
    OBJECTS,
    RANKING,
    READING,
    SIZE,
    TIME_RESOLUTION,
    USED,
    WORKLOAD,
    cache_events,
)

OBJECT = Entity(
    name="obj",
    meaning="the object to be scored, or to be admitted",
    features=(ID, SIZE, COUNT, LAST_ACCESS, INSERTION),
    key="id",
    population="cache",
)

CACHE = Global(
    name="cache",
    meaning="the whole cache",
    features=(USED, CAPACITY, OBJECTS, EVICTED_PRIORITY),
)

VICTIM = Global(
    name="victim",
    meaning="the object that would be evicted first to make room; all 0 where there is room",
    features=(
        Feature("size", "int", "bytes", 0.0, MAX_OBJECT_SIZE, "its size"),
        Feature("count", "int", "requests", 0.0, MAX_REQUESTS, "requests for it since it entered"),
        Feature(
            "last_access", "int", "requests", 0.0, MAX_REQUESTS,
            "the time of the latest request for it", resolution=TIME_RESOLUTION,
        ),
        Feature(
            "insertion", "int", "requests", 0.0, MAX_REQUESTS,
            "the time at which it entered the cache", resolution=TIME_RESOLUTION,
        ),
        Feature("priority", "float", "priority", -1e300, 1e300, "its priority"),
    ),
)  # fmt: skip

GHOST = History(
    name="ghost",
    meaning="the ghost list: the objects evicted or not admitted most recently, as many as the cache holds (free space "
    "counts as full of objects like the last one not admitted); the count of one not admitted grows by 1, and one that "
    "comes back stays listed until later ones push it out",
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
)
ADMIT = (
    "`admit` is called on every miss of an object that fits into the cache, whether or not there is room for it, and "
    "before anything is evicted. For a number above 0 the object enters; else nothing is evicted, and the object is "
    "remembered in the ghost list. `obj` is that object: its `count` is 1, its `last_access` and `insertion` are "
    "`now`, its statistics those of an object never seen. What is known of earlier requests for it is in the ghost "
    "list. "
)

TASK = Task(
    name="cache_admission",
    summary="Choose which objects are let into a cache, and which leaves when space is needed, so that as many "
    "requests as possible hit.",
    signature=Rank(
        function="priority",
        arguments=(NOW, OBJECT, CACHE, GHOST),
        returns="the object's priority to stay: the object with the lowest priority is evicted",
        mechanisms=(SAMPLE, HEAP),
    ),
    others=(
        Value(
            function="admit",
            arguments=(NOW, OBJECT, CACHE, VICTIM, GHOST),
            returns="above 0 to let the object in, else not",
            low=-1e300,
            high=1e300,
            mechanisms=(
                Mechanism(
                    "sample",
                    ADMIT + "Where there is no room, the objects are drawn before `admit` is called, and `victim` is "
                    "the lowest of them, which leaves if the object enters.",
                ),
                Mechanism(
                    "heap",
                    ADMIT + "Where there is no room, `victim` is the object of the lowest kept priority.",
                ),
            ),
        ),
    ),
    evaluator="vulcan_cache.evaluator:CacheEvaluator",
    objectives=OBJECTIVES,
    directory=Path(__file__).parent,
    settings=(*WORKLOAD, *RANKING, *READING),
    events=cache_events((NOW, OBJECT, CACHE, GHOST), admits=True),
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
        Property(
            "larger, no more welcome",
            "nonincreasing",
            "all else equal, a larger object is not admitted where a smaller one is not",
            subject="obj.size",
            function="admit",
        ),
        Property(
            "admits blind to identity",
            "independent",
            "an object's number says nothing about it",
            subject="obj.id",
            function="admit",
        ),
    ),
    advice=(
        "Recency, frequency, size and the ghost list all carry signal; which matters depends on the workload.",
        "Only the order of priorities counts, not their scale.",
        "An object that is requested once costs all that it pushes out; a large one pushes out many. While there is "
        "room, letting an object in costs nothing.",
    ),
)
