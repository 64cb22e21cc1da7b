"""For the leaderboard of several regions: a language model's, from a recorded search that began with `spot_looks`.

It leaves a dear region for a cheap one where slack allows and none was seen for a while; how long spot has lasted so
far says when on-demand gives way to it.
"""

import math

SHARE = 1.8
SHARE_P = 0.876
POW = 1.01
LINE_C = -0.113
MARGIN = 0.526
BACK_W = 0.57
RUN = 5.26
RUN_L = 0.541
UNSEEN = 0.707
PRIOR = 7.99
LOOK_AGE = -2.29
LOOK_P = -0.0558
SPELLW = 0.0197
EWMA = 0.234
DEAR = 0.168
RETRY = 137
RETRY_L = 5.22
PW = 0.839
DLEAD = 2.81
M0 = 27.9
MK = 2.15
RUN_M = 0.879
TAU = 40.8
BONUS = 0.0276
SHP = 2.02
START0 = 10.9
START_P = 0.313
START_R = 2.9


class policy:
    tries = 0
    hits = 0
    cheap_at = -100000000
    ups = 0
    ends = 0
    was = 0


def on_tick(job, spot, vm, regions, region):
    if regions.here_s == 0:
        policy.tries += 1
        if spot.available:
            policy.hits += 1
    if spot.price_ratio - regions.lowest_price_ratio < DEAR:
        policy.cheap_at = job.elapsed_s
    if regions.here_s > 0 and policy.was:
        policy.ups += 1
        if not spot.available:
            policy.ends += 1
    policy.was = spot.available


def decide(job, spot, vm, regions):
    gap = job.gap_s
    over = max(1, job.overhead_s)
    slack = job.slack_s
    p = (policy.hits + PRIOR * 0.5) / (policy.tries + PRIOR)
    left = job.work_left_s / job.duration_s
    share = SHARE - SHARE_P * p**POW * min(regions.count, 4)
    line = LINE_C * gap + max(0, share) * (job.deadline_s - job.duration_s) * left
    lead = slack + job.overhead_s - line
    dear = spot.price_ratio - regions.lowest_price_ratio >= DEAR
    since = (job.elapsed_s - policy.cheap_at) / gap
    mean = (policy.ups + M0 * MK) / (policy.ends + MK)
    if slack < gap:
        return 2
    if spot.available:
        if vm.held == 1:
            if dear and since > RETRY and slack > (DLEAD + 1) * over and left > 0.1:
                return 0
            return 1
        if slack < gap + job.overhead_s:
            return 2
        if vm.held == 2:
            if dear and since > RETRY_L:
                return 3
            if lead < MARGIN * job.overhead_s - BACK_W * line:
                return 2
            if spot.spell_s < (RUN - RUN_L * lead / over - RUN_M * math.log(mean / M0)) * gap:
                return 2
        elif job.elapsed_s > over and lead < START0 * (START_P - p) * over and spot.spell_s < START_R * gap:
            return 2
        elif dear and since > RETRY and slack > DLEAD * over and left > 0.1:
            return 0
        return 1
    if vm.held == 2:
        return 3 if regions.here_s >= (LOOK_AGE - LOOK_P * regions.count) * gap else 2
    if lead < 0:
        return 3
    return 0


def prefer(job, regions, region):
    n = region.ticks_seen
    share = (region.available.avg() * n + UNSEEN * SHP) / (n + SHP) if n else UNSEEN
    lately = region.available.ewma(0.0529) if n else UNSEEN
    base = (share + EWMA * lately) / (1 + EWMA)
    age = region.age_s / job.gap_s
    now = base + (region.available - base) * math.exp(-age / TAU) if n else UNSEEN
    spell = SPELLW * math.log1p(region.spell_s / job.gap_s) * region.available
    return now * (1 - PW * region.price_ratio) + BONUS * age + spell
