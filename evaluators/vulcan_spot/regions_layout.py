"""Where the kernel of several regions keeps what policies read: the run's globals, and a record a region."""

from vulcan.anvil.layout import Layout, Slot
from vulcan_spot.layout import GLOBALS, JOB_SLOTS

# Float64 slots of the globals, behind those of a run in one region.
COUNT, SEEN_REGIONS, HERE = range(GLOBALS, GLOBALS + 3)
REGION_GLOBALS = GLOBALS + 3

# Float64 slots of a region's record. SEEN_AT is the kernel's own.
SEEN, AGE, TICKS_SEEN, SEEN_SPELL, VISITS, SEEN_AT, RECORD = range(7)

REGIONS_LAYOUT = Layout(
    features={
        **JOB_SLOTS,
        "regions.count": Slot("globals", COUNT),
        "regions.seen": Slot("globals", SEEN_REGIONS),
        "regions.here_s": Slot("globals", HERE),
        "region.id": Slot("key"),
        "region.available": Slot("entity", SEEN),
        "region.age_s": Slot("entity", AGE),
        "region.ticks_seen": Slot("entity", TICKS_SEEN),
        "region.spell_s": Slot("entity", SEEN_SPELL),
        "region.visits": Slot("entity", VISITS),
    },
    global_slots=REGION_GLOBALS,
)
