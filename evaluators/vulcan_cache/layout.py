"""Memory layout of `heap` and `sample`: a 64-byte record per object, and the globals."""

from vulcan.anvil.feature_layout import HistorySlots, Layout, Slot

# Float64 slots of an object's record. COUNT is 0 while it is not resident. OWN is the mechanism's: the priority in the
# heap, the place among the residents (an int64) for the sample.
SIZE, COUNT, LAST_ACCESS, INSERTION, OWN, LEFT, LEFT_COUNT, LEFT_AT = range(8)
RECORD = 8

# Float64 slots of the globals. OLDEST is the lowest sequence number of an eviction that the ghost list remembers. What
# stands behind it is the object that would leave, when a policy is asked whether to admit another one.
NOW, USED, CAPACITY, OBJECTS, EVICTED_PRIORITY, OLDEST = range(6)
VICTIM_SIZE, VICTIM_COUNT, VICTIM_LAST_ACCESS, VICTIM_INSERTION, VICTIM_PRIORITY, GLOBALS = range(6, 12)

MAX_SAMPLED = 1024
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
        "victim.size": Slot("globals", VICTIM_SIZE),
        "victim.count": Slot("globals", VICTIM_COUNT),
        "victim.last_access": Slot("globals", VICTIM_LAST_ACCESS),
        "victim.insertion": Slot("globals", VICTIM_INSERTION),
        "victim.priority": Slot("globals", VICTIM_PRIORITY),
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
