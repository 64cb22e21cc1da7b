"""Cache eviction by free Python: a class that keeps its own account of the cache and says what leaves."""

from dataclasses import replace
from pathlib import Path

from vulcan.task import Feature, Hook, Mechanism, Program, Record, Scalar, Setting, Task
from vulcan_cache.interface import CAPACITY, ID, MAX_REQUESTS, OBJECTIVES, READING, SIZE, WORKLOAD

REQUEST = Record(
    "request",
    "the request at hand",
    (
        ID,
        replace(SIZE, meaning="the object's size"),
        Feature("time", "int", "requests", 0.0, MAX_REQUESTS, "the number of the request, from 0"),
    ),
)

TASK = Task(
    name="cache_program",
    summary="Choose which object leaves a cache when space is needed, so that as many requests as possible hit.",
    signature=Program(
        function="Policy",
        arguments=(Scalar(replace(CAPACITY, meaning="bytes that the cache can hold")),),
        returns="",
        hooks=(
            Hook("on_hit", (REQUEST,), "The object is in the cache.", optional=True),
            Hook(
                "on_miss", (REQUEST,), "The object was not in the cache; it has just been put into it.", optional=True
            ),
            Hook(
                "evict",
                (REQUEST,),
                "The object is not in the cache, and there is no room for it. Called again, for the same request, "
                "until there is room; `on_miss` follows.",
                returns="int",
                result="the id of an object that is in the cache, which leaves it; any other number ends the run",
            ),
            Hook(
                "admit",
                (REQUEST,),
                "The object is not in the cache. Called before any `evict`.",
                returns="bool",
                result="whether the object is to be put into the cache; if not, nothing else is called for the request",
                optional=True,
            ),
        ),
        mechanisms=(
            Mechanism(
                "program",
                "An instance is made for an empty cache, and its methods are called as requests come. A call must not "
                "take long: for all requests together there are seconds.",
            ),
        ),
    ),
    evaluator="vulcan_cache.program:ProgramSimulator",
    objectives=OBJECTIVES,
    directory=Path(__file__).parent,
    settings=(
        *WORKLOAD,
        *READING,
        Setting(
            "one_by_one",
            "flag",
            "tell a program of a request only after all its decisions before: slow, and no different for an honest one",
        ),
    ),
    advice=(
        "Recency, frequency, size and what was evicted lately all carry signal; which matters depends on the workload.",
        "Each hook should take constant or logarithmic time: walk over no container as large as the cache.",
        "Keep an account of your own of the cache: what `on_miss` names is in it until `evict` returns its id.",
    ),
)
