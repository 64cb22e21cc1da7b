"""The best published program for the leaderboard of one region (LEVI, 51.72), in Anvil."""

MARGIN = 0.1


def decide(job, spot, vm):
    slack = job.time_left_s - job.work_left_s - job.overhead_s
    if slack <= job.gap_s:
        return 1 if spot.available and vm.last == 1 else 2
    if spot.available:
        return 1
    if vm.last == 2:
        return 2
    return 0 if slack > 2 * job.gap_s + MARGIN * job.work_left_s else 2
