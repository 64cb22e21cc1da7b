"""Memory layout of `queues`: a 64-byte record per object, and the globals."""

from vulcan.anvil.feature_layout import HistorySlots, Layout, Slot

QUEUES = 4
GHOST = QUEUES + 1
GHOST_LISTS = 2

# Float64 slots of an object's record. QUEUE is the number of the queue that holds it; GHOST while the ghost list does,
# and 0 while nothing does.
SIZE, COUNT, LAST_ACCESS, INSERTION, HITS, QUEUE, LEFT_COUNT, LEFT_AT = range(8)

# Float64 slots of the globals. ASKED is the queue whose share is asked for. LISTED is GHOST, which an object's QUEUE is
# while it is in the ghost list. USED_IN and OBJECTS_IN, plus its number, are where a queue has what it holds.
NOW, USED, CAPACITY, OBJECTS, EVICTIONS, ASKED, LISTED = range(7)
USED_IN = LISTED
OBJECTS_IN = USED_IN + QUEUES
SOURCE = OBJECTS_IN + QUEUES + 1  # the queue that an object has left
# TAIL_ID, TAIL_SIZE, TAIL_ACCESS and GHOSTS_IN, plus the number of a queue or ghost list, are what handlers see of it.
TAIL_ID = SOURCE
TAIL_SIZE = TAIL_ID + QUEUES
TAIL_ACCESS = TAIL_SIZE + QUEUES
GHOSTS_IN = TAIL_ACCESS + QUEUES
ROOM_QUEUE = GHOSTS_IN + GHOST_LISTS + 1
ROOM_LIST = ROOM_QUEUE + 1
GLOBALS = ROOM_LIST + 1

MAX_REMEMBERED = float(2**20)
"""Maximum hit count that an object retains when it is moved."""

_OBJECT = ("size", "count", "last_access", "insertion", "hits", "queue")
_CACHE = ("used", "capacity", "objects", "evictions")

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "queue": Slot("globals", ASKED),
        "source": Slot("globals", SOURCE),
        "obj.id": Slot("key"),
        **{f"obj.{name}": Slot("entity", n) for n, name in enumerate(_OBJECT)},
        **{f"cache.{name}": Slot("globals", n) for n, name in enumerate(_CACHE, USED)},
        **{f"queues.used_{number}": Slot("globals", USED_IN + number) for number in range(1, QUEUES + 1)},
        **{f"queues.objects_{number}": Slot("globals", OBJECTS_IN + number) for number in range(1, QUEUES + 1)},
        **{f"tails.id_{number}": Slot("globals", TAIL_ID + number) for number in range(1, QUEUES + 1)},
        **{f"tails.size_{number}": Slot("globals", TAIL_SIZE + number) for number in range(1, QUEUES + 1)},
        **{f"tails.last_access_{number}": Slot("globals", TAIL_ACCESS + number) for number in range(1, QUEUES + 1)},
        **{f"ghosts.used_{number}": Slot("globals", GHOSTS_IN + number) for number in range(1, GHOST_LISTS + 1)},
    },
    global_slots=GLOBALS,
    histories={
        "ghost": HistorySlots(
            left=Slot("entity", QUEUE),
            oldest=Slot("globals", LISTED),
            count=Slot("entity", LEFT_COUNT),
            left_at=Slot("entity", LEFT_AT),
            now=Slot("globals", NOW),
        )
    },
    controls={"room.queue": Slot("globals", ROOM_QUEUE), "room.list": Slot("globals", ROOM_LIST)},
)
