"""Slack is spent in proportion to work, as in `paced` of the task spot_single, on moves to where spot is likely to be.

That is where it was there most often, or was not looked for in a long time.
"""

SHARE = 0.8
MARGIN = 1
UNSEEN = 0.5
PATIENCE = 0.02


def decide(job, spot, vm, regions):
    reserve = SHARE * (job.deadline_s - job.duration_s) * job.work_left_s / job.duration_s
    lead = job.slack_s + job.overhead_s - reserve
    if vm.held == 2 and (not spot.available or lead < MARGIN * job.overhead_s):
        return 2
    if spot.available:
        return 1
    return 2 if lead < 0 else 0


def prefer(job, regions, region):
    share = region.available.avg() if region.ticks_seen else UNSEEN
    return share + PATIENCE * region.age_s / job.gap_s
