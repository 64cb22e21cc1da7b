"""Where the kernels keep what policies read: one 64-byte record an object, and the globals of the cache."""

from vulcan.anvil.layout import HistorySlots, Layout, Slot

# Float64 slots of an object's record. COUNT is 0 while it is not resident. OWN is the mechanism's: the priority in the
# heap, the place among the residents (an int64) for the sample.
SIZE, COUNT, LAST_ACCESS, INSERTION, OWN, LEFT, LEFT_COUNT, LEFT_AT = range(8)
RECORD = 8

# Float64 slots of the globals. OLDEST is the lowest sequence number of an eviction that the ghost list remembers.
NOW, USED, CAPACITY, OBJECTS, EVICTED_PRIORITY, OLDEST, GLOBALS = range(7)

MOST_SAMPLED = 1024
"""Objects that the mechanism `sample` can draw at an eviction."""

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "obj.id": Slot("key"),
        "obj.size": Slot("entity", SIZE),
        "obj.count": Slot("entity", COUNT),
        "obj.last_access": Slot("entity", LAST_ACCESS),
        "obj.insertion": Slot("entity", INSERTION),
        "cache.used": Slot("globals", USED),
        "cache.capacity": Slot("globals", CAPACITY),
        "cache.objects": Slot("globals", OBJECTS),
        "cache.evicted_priority": Slot("globals", EVICTED_PRIORITY),
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
