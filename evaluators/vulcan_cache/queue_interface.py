"""Declarations of the policies of the mechanism `queues`: their functions, arguments, events and claims."""

from typing import Any

from vulcan.task import (
    MAX_EXACT_INTEGER,
    Entity,
    Feature,
    Form,
    Global,
    History,
    Mechanism,
    Property,
    Scalar,
    Value,
    event,
)
from vulcan_cache import interface as i

NUMBERS = (1, 2, 3, 4)

OBJECT = Entity(
    name="obj",
    meaning="the object that is decided on",
    features=(
        i.ID,
        i.SIZE,
        i.COUNT,
        Feature(
            "hits", "int", "requests", 0.0, i.MAX_REQUESTS,
            "hits since it entered; what `keep` returned when it was last moved from a tail, and hits since then",
        ),
        Feature(
            "queue", "int", "number", 0.0, 5.0,
            "the number of the queue that it is in; when `insert` is called 0, or 5 if it is in the ghost list",
        ),
        i.LAST_ACCESS,
        i.INSERTION,
    ),
    key="id",
    population="cache",
)  # fmt: skip

CACHE = Global(
    name="cache",
    meaning="the whole cache",
    features=(
        i.USED,
        i.CAPACITY,
        i.OBJECTS,
        Feature("evictions", "int", "objects", 0.0, i.MAX_REQUESTS, "how many objects it has evicted so far"),
    ),
)


def _each(name: str, unit: str, low: float, high: float, meaning: str, **further: Any) -> tuple[Feature, ...]:
    """Declare a feature for each queue, of whose number the meaning says."""
    return tuple(
        Feature(f"{name}_{number}", "int", unit, low, high, meaning.format(number), **further) for number in NUMBERS
    )


QUEUES = Global(
    name="queues",
    meaning="the queues, by their numbers",
    features=(
        *_each("used", "bytes", 0.0, MAX_EXACT_INTEGER, "bytes of the objects in queue {}"),
        *_each("objects", "objects", 0.0, i.MAX_OBJECTS, "how many objects queue {} holds"),
    ),
)
QUEUE = Scalar(Feature("queue", "int", "number", 0.0, 4.0, "the number of a queue, 0 for the ghost list"))

SOURCE = Scalar(Feature("source", "int", "number", 1.0, 4.0, "the number of the queue that the object has left"))

GHOST = History(
    name="ghost",
    meaning="the ghost list: objects that left or were not let in, the longest listed first to be forgotten; one that "
    "enters the cache is no longer listed, and the count of one not let in grows by 1",
    entity="obj",
    count_of="count",
    age_unit="requests",
)

TAILS = Global(
    name="tails",
    meaning="the objects at the tails of the queues, by the queues' numbers",
    features=(
        *_each("id", "identity", -1.0, i.MAX_OBJECTS,
               "`obj.id` of the object at the tail of queue {}, -1 if the queue is empty"),
        *_each("size", "bytes", 0.0, i.MAX_OBJECT_SIZE,
               "the size of the object at the tail of queue {}, 0 if it is empty"),
        *_each("last_access", "requests", 0.0, i.MAX_REQUESTS,
               "the time of the latest request for the object at the tail of queue {}, `now` if it is empty",
               resolution=i.TIME_RESOLUTION),
    ),
)  # fmt: skip
GHOSTS = Global(
    name="ghosts",
    meaning="the ghost lists, by their numbers: only `room.list` puts objects on the second one",
    features=tuple(
        Feature(
            f"used_{number}", "int", "bytes", 0.0, MAX_EXACT_INTEGER, f"bytes of the objects on ghost list {number}"
        )
        for number in (1, 2)
    ),
)

ROOM = Global(
    name="room",
    meaning="how room is made",
    features=(
        Feature(
            "queue", "int", "number", -1.0, 6.0,
            "the queue, 1 to 4, that has to shrink next, even if there is room; 5 or 6 to forget the object that has "
            "been on ghost list 1 or 2 for the longest time; 0 for the queue that has to shrink without a handler, if "
            "any (also if there is no object where one is asked for); -1 not to let `obj` in after all",
        ),
        Feature(
            "list", "int", "number", 0.0, 2.0,
            "the ghost list, 1 or 2, that remembers the object that leaves or is not let in; 0 for none; 1 unless set",
        ),
    ),
)  # fmt: skip

HERE = (i.NOW, OBJECT, CACHE, QUEUES)

INSERT = Mechanism(
    "queues",
    "The cache is up to four FIFO queues, numbered 1 to 4; objects enter a queue at its head and come to its tail as "
    "others enter. On a miss of an object that fits into the cache `insert` is called, before anything leaves: below "
    "0.5 the object is not let in (and remembered in the ghost list from -0.5 on), else it enters at the head of the "
    "queue of that number. If others had to leave for it first, `insert` is called once more when there is room, for "
    "the queues have changed, and that number counts (at least 1). While space is needed, one queue has to shrink: "
    "the last one (4 before 1) that is over its share, or, where none is, the first (1 before 4) that holds anything. "
    "The objects at its tail are decided on by `tail`, one by one, until one has left the cache or the queue is empty; "
    "if there still is no room, a queue is chosen again. All numbers are rounded to the nearest whole one.",
)
HIT = Mechanism(
    "queues",
    "On a hit, `hit` is called: from 0.5 on, the object moves to the head of the queue of that number (its own, "
    "too); below, it stays where it is. Has it moved to another queue that is over its share now, that queue has to "
    "shrink: `tail` decides on the objects at its tail, one by one, until it is within its share, and likewise for "
    "queues that these are moved to.",
)
TAIL = Mechanism(
    "queues",
    "`tail` is called for the object at the tail of a queue that has to shrink: from 0.5 on, it moves to the head of "
    "the queue of that number (its own: it goes round again); below, it is evicted, and remembered in the ghost list "
    "from -0.5 on. Each request allows 4 such moves, which can be saved up, but no more than 4 for each object in the "
    "cache: when none is left, objects are evicted instead and remembered.",
)
KEEP = Mechanism(
    "queues",
    "`keep` is called right after `tail`, for an object that is about to be moved (`obj.queue` is still the queue "
    "that it leaves), and returns what `obj.hits` goes on with, rounded down: with 0, only hits after the move will "
    "count.",
)
SHARE = Mechanism(
    "queues",
    "`share` is called for each queue, and with `queue` = 0 for the ghost list, before the first request and, if it "
    "reads more than `queue` and `cache.capacity`, again whenever a queue to shrink is chosen and an object is not let "
    "in. Shares need not add up: a queue whose share is the capacity is never over it.",
)

QUEUED = Form(
    signature=Value(
        function="insert",
        arguments=(*HERE, GHOST),
        returns="the number of the queue that the object enters, 1 to 4; 0 not to let it in, -1 to forget it besides",
        low=-1.0,
        high=4.0,
        mechanisms=(INSERT,),
    ),
    others=(
        Value(
            function="hit",
            arguments=HERE,
            returns="the number of the queue that the object moves to, 1 to 4, or 0 to leave it where it is",
            low=0.0,
            high=4.0,
            mechanisms=(HIT,),
        ),
        Value(
            function="tail",
            arguments=HERE,
            returns="the number of the queue that the object moves to, 1 to 4; 0 to evict it, -1 to forget it besides",
            low=-1.0,
            high=4.0,
            mechanisms=(TAIL,),
        ),
        Value(
            function="keep",
            arguments=HERE,
            returns="what `obj.hits` goes on with, 0 to 2^20",
            low=0.0,
            high=float(2**20),
            mechanisms=(KEEP,),
        ),
        Value(
            function="share",
            arguments=(QUEUE, CACHE, QUEUES),
            returns="the bytes of the capacity that the queue is to have, or that the ghost list may remember, from 0 "
            "to `cache.capacity`",
            low=0.0,
            high=MAX_EXACT_INTEGER,
            mechanisms=(SHARE,),
        ),
    ),
    events=(
        *i.cache_events((*HERE, GHOST), at_a_hit=(TAILS,)),
        event(
            "on_move",
            (*HERE, SOURCE),
            "`obj` has moved to the head of the queue `obj.queue`, by `hit` or by `tail`, from the queue `source`.",
        ),
        event(
            "on_room",
            (*HERE, GHOST, TAILS, GHOSTS, ROOM),
            "`obj` was missed and is to be let in; it looks as in `on_miss`. Called before `tail` is asked about the "
            "object at the tail of the queue that has to shrink, and again after it has moved or left, until there is "
            "room for `obj` and `room.queue` is left at 0; then `insert` is called once more.",
            controls=(ROOM,),
        ),
        event("on_forget", HERE, "`obj` is about to leave the ghost list for good, pushed out by others."),
    ),
    properties=(
        Property("to a queue or not", "bounded", "the number stays from -1 to 4", low=-1.0, high=4.0, required=True),
        Property(
            "moves or stays", "bounded", "the number stays from 0 to 4", low=0.0, high=4.0, function="hit",
            when="1 <= obj.queue <= 4", required=True,
        ),
        Property(
            "moves or leaves", "bounded", "the number stays from -1 to 4", low=-1.0, high=4.0, function="tail",
            when="1 <= obj.queue <= 4", required=True,
        ),
        Property(
            "within the cache",
            "holds",
            "no share is below 0 or above the capacity",
            claim="0 <= result <= cache.capacity",
            function="share",
            required=True,
        ),
        *(
            Property(
                f"{function}: blind to identity", "independent", "an object's number says nothing about it",
                subject="obj.id", function=function,
            )
            for function in ("insert", "hit", "tail", "keep")
        ),
    ),
    advice=(
        "Most objects are requested once or a few times: a small queue that new ones have to pass keeps them from "
        "pushing out what is in use, and the ghost list shows which of those that left too early come back.",
        "A hit that only counts is cheap and resists scans; one that moves the object to a head makes the queue LRU.",
        "An object that goes round again costs a move; to evict at once those that were not hit is what makes room.",
    ),
)  # fmt: skip
