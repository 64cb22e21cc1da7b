"""Uniform Progress with memory: the line that work should follow bends by how much of the time spot was there so far.

Without spot, on-demand helps out where the work that is left needs more than a share of the time without spot that is
to be expected. An on-demand VM gives way to spot where spot has lasted, in the mean, for some starts.
"""

import math

PRIOR_S = 36000
PRIOR_SHARE = 0.4
FIRST_SPELL_S = 7200
WEIGHT = 0.2
THRESHOLD = 0.65
STICKINESS = 0.5
STARTS = 1.5


class policy:
    there_s = 0  # how long spot has been there so far
    spell_s = FIRST_SPELL_S  # smoothed length of the times with spot
    now_s = 0  # length of the present one


def on_tick(job, spot, vm):
    if spot.available:
        policy.there_s += job.gap_s
        policy.now_s += job.gap_s
    elif policy.now_s > 0:
        policy.spell_s += WEIGHT * (policy.now_s - policy.spell_s)
        policy.now_s = 0


def decide(job, spot, vm):
    hurry = math.ceil((job.work_left_s + 2 * job.overhead_s) / job.gap_s) >= job.time_left_s // job.gap_s
    if hurry and vm.held != 1:
        return 2
    share = (PRIOR_S * PRIOR_SHARE + policy.there_s) / (PRIOR_S + job.elapsed_s + job.gap_s)
    missing = job.work_left_s + STARTS * job.overhead_s - share * job.time_left_s
    needed = missing / max((1 - share) * job.time_left_s, job.gap_s)
    if spot.available and (vm.held != 2 or policy.spell_s > STARTS * job.overhead_s):
        return 1
    return 2 if needed > THRESHOLD - STICKINESS * (vm.held == 2) else 0
