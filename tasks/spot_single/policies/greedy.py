"""Spot whenever it is there; on-demand once only two starts are left to spare."""

import math


def decide(job, spot, vm):
    hurry = math.ceil((job.work_left_s + 2 * job.overhead_s) / job.gap_s) >= job.time_left_s // job.gap_s
    return 2 if hurry and vm.held != 1 else spot.available
