"""Slack is spent in proportion to work: where more of it than that is gone, on-demand helps out.

With SHARE 1 this is the line of Uniform Progress in seconds of slack; with less of it, some slack may be spent early.
An on-demand VM is kept until spot is there and the lead is worth a start.
"""

SHARE = 0.8
MARGIN = 1


def decide(job, spot, vm):
    reserve = SHARE * (job.deadline_s - job.duration_s) * job.work_left_s / job.duration_s
    lead = job.slack_s + job.overhead_s - reserve
    if vm.held == 2 and (not spot.available or lead < MARGIN * job.overhead_s):
        return 2
    if spot.available:
        return 1
    return 2 if lead < 0 else 0
