"""Memory layout of `heap` and `sample`: a 64-byte record per object, and the globals."""

from vulcan.anvil.feature_layout import HistorySlots, Layout, Slot

# Float64 slots of an object's record. COUNT is 0 while it is not resident. OWN is the mechanism's: the priority in the
# heap, the place among the residents (an int64) for the sample.
SIZE, COUNT, LAST_ACCESS, INSERTION, OWN, LEFT, LEFT_COUNT, LEFT_AT = range(8)

# Float64 slots of the globals. OLDEST is the lowest sequence number of an eviction that the ghost list remembers. What
# stands behind it is the object that would leave, when a policy is asked whether to admit another one.
NOW, USED, CAPACITY, OBJECTS, EVICTED_PRIORITY, OLDEST = range(6)
VICTIM_SIZE, VICTIM_COUNT, VICTIM_LAST_ACCESS, VICTIM_INSERTION, VICTIM_PRIORITY, GLOBALS = range(6, 12)

MAX_SAMPLED = 1024
"""Objects that the mechanism `sample` can draw at an eviction."""

_OBJECT = ("size", "count", "last_access", "insertion")
_CACHE = ("used", "capacity", "objects", "evicted_priority")

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "obj.id": Slot("key"),
        **{f"obj.{name}": Slot("entity", n) for n, name in enumerate(_OBJECT)},
        **{f"cache.{name}": Slot("globals", n) for n, name in enumerate(_CACHE, USED)},
        **{f"victim.{name}": Slot("globals", n) for n, name in enumerate((*_OBJECT, "priority"), VICTIM_SIZE)},
    },
    global_slots=GLOBALS,
    histories={
        "ghost": HistorySlots(
            left=Slot("entity", LEFT),
            oldest=Slot("globals", OLDEST),
            count=Slot("entity", LEFT_COUNT),
            left_at=Slot("entity", LEFT_AT),
            now=Slot("globals", NOW),
        )
    },
)
