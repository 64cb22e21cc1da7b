"""Memory layout of the features: the globals of a run, and a record per region."""

from vulcan.anvil.feature_layout import Layout, Slot

# Float64 slots of the globals, in the order of `_RUN` and then of `_REGIONS`.
(
    DURATION, DEADLINE, OVERHEAD, GAP, ELAPSED, PROGRESS, WORK_LEFT, TIME_LEFT, SLACK, AVAILABLE, SPELL, PRICE_RATIO,
    LAST, HELD, OVERHEAD_LEFT, RUNNING, PREEMPTIONS, COUNT, SEEN_REGIONS, HERE, LOWEST_PRICE, GLOBALS,
) = range(22)  # fmt: skip

# Float64 slots of a region's record, in the order of `_REGION`. SEEN_AT is the kernel's own.
SEEN, AGE, TICKS_SEEN, SEEN_SPELL, VISITS, REGION_PRICE, SEEN_AT, RECORD = range(8)

_RUN = (
    "job.duration_s", "job.deadline_s", "job.overhead_s", "job.gap_s", "job.elapsed_s", "job.progress_s",
    "job.work_left_s", "job.time_left_s", "job.slack_s", "spot.available", "spot.spell_s", "spot.price_ratio",
    "vm.last", "vm.held", "vm.overhead_left_s", "vm.running_s", "vm.preemptions",
)  # fmt: skip
_REGIONS = ("regions.count", "regions.seen", "regions.here_s", "regions.lowest_price_ratio")
_REGION = ("available", "age_s", "ticks_seen", "spell_s", "visits", "price_ratio")

LAYOUT = Layout(features={name: Slot("globals", n) for n, name in enumerate(_RUN)}, global_slots=GLOBALS)
"""Of policies for one region."""

REGIONS_LAYOUT = Layout(
    features={
        **{name: Slot("globals", n) for n, name in enumerate((*_RUN, *_REGIONS))},
        "region.id": Slot("key"),
        **{f"region.{name}": Slot("entity", n) for n, name in enumerate(_REGION)},
    },
    global_slots=GLOBALS,
)

# Numbers of the deciders, as the kernels know them.

POLICY, ON_DEMAND_ONLY, SPOT_ONLY, GREEDY, UNIFORM_PROGRESS = range(5)
