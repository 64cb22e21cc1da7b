"""Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024).

Where work is behind the line from 0 at the beginning to all of it at the deadline, on-demand helps out, until spot is
there and two starts ahead of that line are gained.
"""

import math


def decide(job, spot, vm):
    pace = job.duration_s / job.deadline_s
    hurry = math.ceil((job.work_left_s + 2 * job.overhead_s) / job.gap_s) >= job.time_left_s // job.gap_s
    if hurry and vm.held != 1:
        return 2
    if vm.held == 2 and (not spot.available or (job.elapsed_s + 2 * job.overhead_s) * pace >= job.progress_s):
        return 2
    if spot.available:
        return 1
    return 2 if job.progress_s < job.elapsed_s * pace else 0
