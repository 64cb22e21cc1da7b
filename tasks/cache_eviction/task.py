"""Cache eviction: which objects are let into a cache, and which leaves when space is needed."""

from pathlib import Path

from vulcan.task import Entity, Feature, Global, History, Mechanism, Property, Rank, Task, Value
from vulcan_cache import interface as i
from vulcan_cache.queue_interface import QUEUED

OBJECT = Entity(
    name="obj",
    meaning="the object to be scored, or to be admitted",
    features=(i.ID, i.SIZE, i.COUNT, i.LAST_ACCESS, i.INSERTION),
    key="id",
    population="cache",
)

CACHE = Global(name="cache", meaning="the whole cache", features=(i.USED, i.CAPACITY, i.OBJECTS, i.EVICTED_PRIORITY))

VICTIM = Global(
    name="victim",
    meaning="the object that would be evicted next to make room; all 0 where there is room",
    features=(
        Feature("size", "int", "bytes", 0.0, i.MAX_OBJECT_SIZE, "its size"),
        Feature("count", "int", "requests", 0.0, i.MAX_REQUESTS, "requests for it since it entered"),
        i.LAST_ACCESS,
        i.INSERTION,
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
    calls=8.0,
)
HEAP = Mechanism(
    "heap",
    "`priority` is called for an object when it enters the cache and whenever it is requested, and kept; when space "
    "is needed, the object with the lowest kept priority is evicted, the longest untouched of equals. So "
    "`now - obj.last_access` is 0 whenever `priority` is called, and a priority stays as it is until the next request "
    "for its object, or until `recheck` says so.",
)
ADMIT = (
    "`admit` is called on every miss of an object that fits into the cache: once where there is room, else for each "
    "object that would have to leave, the next one each time, before it leaves, until there is room. `victim` is that "
    "object. For a number above 0 it leaves and, once there is room, the new object enters; else the new object does "
    "not enter, and is remembered in the ghost list (what has left for it before is gone). `obj` is the new object: "
    "its `count` is 1, its `last_access` and `insertion` are `now`, its statistics those of an object never seen. What "
    "is known of earlier requests for it is in the ghost list."
)
RECHECK = (
    "`recheck` is called after each call of `priority`. If it returns 1 or more, and the object is still in the cache "
    "and has not been requested after as many requests (rounded down), `priority` is called for it again, with its "
    "true idle time then, and `recheck` too; so an object that has outstayed its welcome can be given a low priority, "
    "with which it leaves next. Below 1 it is left alone until it is requested. At one request 4 objects are looked at "
    "again, the longest due first, and the others at later ones."
)

SMALLER = Property(
    "larger, no more welcome",
    "nonincreasing",
    "all else equal, a larger object is not admitted where a smaller one is not",
    subject="obj.size",
    function="admit",
)

TASK = Task(
    name="cache_eviction",
    summary="Choose which objects are let into a cache, and which leaves when space is needed, so that as many "
    "requests as possible hit.",
    signature=Rank(
        function="priority",
        arguments=(i.NOW, OBJECT, CACHE, GHOST),
        returns="the object's priority to stay: the object with the lowest priority is evicted",
        mechanisms=(SAMPLE, HEAP),
    ),
    others=(
        Value(
            function="admit",
            arguments=(i.NOW, OBJECT, CACHE, VICTIM, GHOST),
            returns="above 0 to let the object in, else not; without this function, all are let in",
            low=-1e300,
            high=1e300,
            optional=True,
            mechanisms=(
                Mechanism(
                    "sample", ADMIT + " The objects are drawn before `admit` is called, and `victim` is the lowest."
                ),
                Mechanism("heap", "`admit` is called as under `sample`; `victim` is the object that leaves next."),
            ),
        ),
        Value(
            function="recheck",
            arguments=(i.NOW, OBJECT, CACHE, GHOST),
            returns="after how many requests the object is looked at again; without this function, none is",
            low=0.0,
            high=i.MAX_REQUESTS,
            optional=True,
            mechanisms=(Mechanism("heap", RECHECK),),
        ),
    ),
    forms=(QUEUED,),
    evaluator="vulcan_cache.simulator:CacheSimulator",
    objectives=i.OBJECTIVES,
    directory=Path(__file__).parent,
    settings=(*i.WORKLOAD, *i.SAMPLING, *i.READING),
    events=i.cache_events((i.NOW, OBJECT, CACHE, GHOST)),
    properties=(
        i.FINITE,
        Property(
            "more requests, no lower priority", "nondecreasing", "all else equal", subject="obj.count", when=i.IN_ORDER
        ),
        Property(
            "later access, no lower priority",
            "nondecreasing",
            "all else equal",
            subject="obj.last_access",
            when=i.IN_ORDER,
        ),
        Property("blind to identity", "independent", "an object's number says nothing about it", subject="obj.id"),
        SMALLER,
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
