"""Memory layout of the features: one 64-byte record per page, and the globals of the memory."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of a page's record, in the order of `_PAGE`
ACCESSES, READS, WRITES, LAST_ACCESS, ARRIVAL, FAST, MOVED, SPARE = range(8)
RECORD = 8

# Float64 slots of the globals, in the order of `_MEMORY` after the time
(
    NOW, PAGES, FAST_CAPACITY, MIGRATIONS, FAST_BANDWIDTH, SLOW_BANDWIDTH, FAST_LATENCY, SLOW_LATENCY, FAST_SHARE,
    GLOBALS,
) = range(10)  # fmt: skip

_PAGE = ("accesses", "reads", "writes", "last_access", "arrival", "fast", "moved")
_MEMORY = (
    "pages", "fast_capacity", "migrations", "fast_bandwidth", "slow_bandwidth", "fast_latency", "slow_latency",
    "fast_share",
)  # fmt: skip

LAYOUT = Layout(
    features={
        "now": Slot("globals", NOW),
        "page.id": Slot("key"),
        **{f"page.{name}": Slot("entity", n) for n, name in enumerate(_PAGE)},
        **{f"memory.{name}": Slot("globals", n) for n, name in enumerate(_MEMORY, PAGES)},
    },
    global_slots=GLOBALS,
)
