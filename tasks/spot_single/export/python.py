"""How a policy for one region is used at run time: the class `SpotRun`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (spot where it is) the file works as it is.
"""

import math

from vulcan.export.stand_ins import _Statistics


def decide(job: "_Job", spot: "_Seen", vm: "_Seen") -> float:
    return 1.0 if spot.available else 0.0


# --- exported modules have the policy above this line ---


class _Seen:
    """What the policy sees of the market, or of the VM."""

    available = spell_s = price_ratio = last = held = overhead_left_s = running_s = preemptions = 0.0


class _Job(_Statistics):
    """What the policy sees of the job."""


class SpotRun:
    """A job that runs under the policy, which decides once a tick of `gap_s` seconds.

    Call `tick` at the beginning of each: it says what to run until the next, `WAIT`, `SPOT` or `ON_DEMAND`. Work counts
    as the task counts it: a VM works all the time but for `overhead_s` after each start. While on-demand VMs start,
    the safety net meets the deadline, whatever the policy answers. `is_done` says that the work should be done.
    """

    WAIT, SPOT, ON_DEMAND = 0, 1, 2

    def __init__(
        self, duration_s: float, deadline_s: float, overhead_s: float, gap_s: float = 600.0, price_ratio: float = 0.318
    ) -> None:
        self.job, self.spot, self.vm = _Job(), _Seen(), _Seen()
        self.job.duration_s, self.job.deadline_s = float(duration_s), float(deadline_s)
        self.job.overhead_s, self.job.gap_s = float(overhead_s), float(gap_s)
        self.job.elapsed_s = self.job.progress_s = 0.0
        self.spot.price_ratio = float(price_ratio)
        self.is_done = False
        self._ticks = 0

    def seed(self, seed: int) -> None:  # with state
        """Start the policy's random numbers with a whole number; they start with that of the search."""
        self.job.seed(seed)

    def tick(self, available: bool) -> int:
        """What to run during the coming tick, spot being available in it or not."""
        job, spot, vm = self.job, self.spot, self.vm
        job.elapsed_s = self._ticks * job.gap_s
        vm.held = 0.0 if vm.last == self.SPOT and not available else vm.last
        if vm.last != self.WAIT:
            worked = max(job.gap_s - vm.overhead_left_s, 0.0)
            vm.overhead_left_s -= job.gap_s - worked
            job.progress_s += min(worked, job.duration_s - job.progress_s)
            vm.running_s += job.gap_s
        job.work_left_s = job.duration_s - job.progress_s
        job.time_left_s = job.deadline_s - job.elapsed_s
        job.slack_s = job.time_left_s - job.work_left_s - job.overhead_s
        self.is_done = self.is_done or job.work_left_s <= 0.0
        if self.is_done:
            return int(vm.held)
        if vm.last == self.SPOT and not vm.held:
            vm.preemptions += 1.0
        if not vm.held:
            vm.running_s = 0.0
        spot.spell_s = spot.spell_s + job.gap_s if self._ticks and spot.available == available else 0.0
        spot.available = float(available)
        job.observe(spot, vm)
        job.on_tick(spot, vm)  # with on_tick
        asked = decide(job, spot, vm)
        chosen = self.WAIT if asked < 0.5 else self.SPOT if asked < 1.5 else self.ON_DEMAND
        if math.ceil((job.work_left_s + job.overhead_s) / job.gap_s) >= job.time_left_s // job.gap_s:
            chosen = self.SPOT if vm.held == self.SPOT and vm.overhead_left_s <= 0.0 else self.ON_DEMAND
        if chosen == self.SPOT and not available:
            chosen = self.WAIT
        if chosen not in (self.WAIT, vm.held):
            vm.overhead_left_s, vm.running_s = job.overhead_s, 0.0
        vm.last = float(chosen)
        self._ticks += 1
        return chosen
