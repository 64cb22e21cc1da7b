"""Memory layout of the features: one 64-byte record per page, and the globals of the memory."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of a page's record
ACCESSES, READS, WRITES, LAST_ACCESS, ARRIVAL, FAST, MOVED, SPARE = range(8)
RECORD = 8

# Float64 slots of the globals
(
    NOW,
    PAGES,
    FAST_CAPACITY,
    MIGRATIONS,
    FAST_BANDWIDTH,
    SLOW_BANDWIDTH,
    FAST_LATENCY,
    SLOW_LATENCY,
    FAST_SHARE,
    GLOBALS,
) = range(10)

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "page.id": Slot("key"),
        "page.accesses": Slot("entity", ACCESSES),
        "page.reads": Slot("entity", READS),
        "page.writes": Slot("entity", WRITES),
        "page.last_access": Slot("entity", LAST_ACCESS),
        "page.arrival": Slot("entity", ARRIVAL),
        "page.fast": Slot("entity", FAST),
        "page.moved": Slot("entity", MOVED),
        "memory.pages": Slot("globals", PAGES),
        "memory.fast_capacity": Slot("globals", FAST_CAPACITY),
        "memory.migrations": Slot("globals", MIGRATIONS),
        "memory.fast_bandwidth": Slot("globals", FAST_BANDWIDTH),
        "memory.slow_bandwidth": Slot("globals", SLOW_BANDWIDTH),
        "memory.fast_latency": Slot("globals", FAST_LATENCY),
        "memory.slow_latency": Slot("globals", SLOW_LATENCY),
        "memory.fast_share": Slot("globals", FAST_SHARE),
    },
    global_slots=GLOBALS,
)
