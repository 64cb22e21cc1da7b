"""Where the kernel keeps what policies read: the globals of a run in one region."""

from vulcan.anvil.layout import Layout, Slot

# Float64 slots of the globals.
(
    DURATION, DEADLINE, OVERHEAD, GAP, ELAPSED, PROGRESS, WORK_LEFT, TIME_LEFT, SLACK,
    AVAILABLE, SPELL, PRICE_RATIO, LAST, HELD, OVERHEAD_LEFT, RUNNING, PREEMPTIONS, GLOBALS,
) = range(18)  # fmt: skip

JOB_SLOTS = {
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

LAYOUT = Layout(features=JOB_SLOTS, global_slots=GLOBALS)
