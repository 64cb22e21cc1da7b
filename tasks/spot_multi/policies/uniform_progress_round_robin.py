"""Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024), which looks elsewhere instead of waiting."""

import math


def decide(job, spot, vm, regions):
    pace = job.duration_s / job.deadline_s
    hurry = math.ceil((job.work_left_s + 2 * job.overhead_s) / job.gap_s) >= job.time_left_s // job.gap_s
    if hurry and vm.held != 1:
        return 2
    if vm.held == 2 and (not spot.available or (job.elapsed_s + 2 * job.overhead_s) * pace >= job.progress_s):
        return 2
    if spot.available:
        return 1
    return 2 if job.progress_s < job.elapsed_s * pace else 0


def prefer(job, regions, region):
    return region.age_s
