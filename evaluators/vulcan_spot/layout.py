"""Memory layout of the features: the globals of a run, and a record per region."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of the globals.
(
    DURATION,
    DEADLINE,
    OVERHEAD,
    GAP,
    ELAPSED,
    PROGRESS,
    WORK_LEFT,
    TIME_LEFT,
    SLACK,
    AVAILABLE,
    SPELL,
    PRICE_RATIO,
    LAST,
    HELD,
    OVERHEAD_LEFT,
    RUNNING,
    PREEMPTIONS,
    COUNT,
    SEEN_REGIONS,
    HERE,
    LOWEST_PRICE,
    GLOBALS,
) = range(22)

# Float64 slots of a region's record. SEEN_AT is the kernel's own.
SEEN, AGE, TICKS_SEEN, SEEN_SPELL, VISITS, SEEN_AT, REGION_PRICE, RECORD = range(8)

_JOB = {
    "job.duration_s": Slot("globals", DURATION),
    "job.deadline_s": Slot("globals", DEADLINE),
    "job.overhead_s": Slot("globals", OVERHEAD),
    "job.gap_s": Slot("globals", GAP),
    "job.elapsed_s": Slot("globals", ELAPSED),
    "job.progress_s": Slot("globals", PROGRESS),
    "job.work_left_s": Slot("globals", WORK_LEFT),
    "job.time_left_s": Slot("globals", TIME_LEFT),
    "job.slack_s": Slot("globals", SLACK),
    "spot.available": Slot("globals", AVAILABLE),
    "spot.spell_s": Slot("globals", SPELL),
    "spot.price_ratio": Slot("globals", PRICE_RATIO),
    "vm.last": Slot("globals", LAST),
    "vm.held": Slot("globals", HELD),
    "vm.overhead_left_s": Slot("globals", OVERHEAD_LEFT),
    "vm.running_s": Slot("globals", RUNNING),
    "vm.preemptions": Slot("globals", PREEMPTIONS),
}

LAYOUT = Layout(features=_JOB, global_slots=GLOBALS)
"""Of policies for one region."""

REGIONS_LAYOUT = Layout(
    features={
        **_JOB,
        "regions.count": Slot("globals", COUNT),
        "regions.seen": Slot("globals", SEEN_REGIONS),
        "regions.here_s": Slot("globals", HERE),
        "regions.lowest_price_ratio": Slot("globals", LOWEST_PRICE),
        "region.id": Slot("key"),
        "region.available": Slot("entity", SEEN),
        "region.age_s": Slot("entity", AGE),
        "region.ticks_seen": Slot("entity", TICKS_SEEN),
        "region.spell_s": Slot("entity", SEEN_SPELL),
        "region.visits": Slot("entity", VISITS),
        "region.price_ratio": Slot("entity", REGION_PRICE),
    },
    global_slots=GLOBALS,
)


# Numbers of the deciders, as the kernels know them.

POLICY, ON_DEMAND_ONLY, SPOT_ONLY, GREEDY, UNIFORM_PROGRESS, PLANNED = range(6)
