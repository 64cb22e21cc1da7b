"""For the leaderboard of one region: a language model's, from a recorded search that began with `spot_reserve`.

Beside the slack that starts will take, the surplus of the share of time with spot over what the work left needs, how
short the outages were so far, and how long the last spell of spot was. tests/data/recorded has the search.
"""

import math

A0 = -0.224
A1 = 1.28
A2 = 0.563
A3 = 3.49
A4 = 0.273
A5 = 1.04
A6 = -0.0223
W0 = -1.41
W1 = 35.2
W2 = -0.499
W3 = -0.431
W4 = -0.788
W5 = -0.329
W6 = 0.0203
W7 = 0.137
W8 = 3.29
SH = 42.7
K0 = 12.9
K1 = -1.5
PRIOR_N = 6.75
PRIOR_T = 87.6
G0 = 1.11
G1 = 1.48
U0 = 0.416
U1 = 0.833
A7 = 0.457
CL = 2.88
W14 = -0.668
W16 = 0.919
FN = 5.7
FS = 0.211
FL = 1.79
W17 = 0.213
W13 = 0.018
W19 = 7
SM = 0.516


class policy:
    ups = 0
    up = 0
    down = 0
    was = 0
    short = 0
    done = 0
    now = 0
    cu = 0
    lastup = 3


def on_tick(job, spot, vm):
    if spot.available:
        policy.cu = policy.cu + 1 if policy.was > 0.5 else 1
    elif policy.was > 0.5:
        policy.lastup = policy.cu
    if not spot.available:
        policy.now += 1
    elif policy.now > 0:
        policy.done += 1
        policy.short += policy.now < FL
        policy.now = 0
    if spot.available:
        policy.up += 1
        if policy.was < 0.5:
            policy.ups += 1
        policy.was = 1
    else:
        policy.down += 1
        policy.was = 0


def decide(job, spot, vm):
    slack = job.slack_s / job.gap_s
    if slack < 1:
        return 2
    h = job.overhead_s / job.gap_s
    left = max(0.1, job.time_left_s / job.gap_s)
    spare = (slack - U0 - U1 * h) / left
    n = policy.ups + PRIOR_N
    mu = (policy.up + PRIOR_T * 0.5) / n
    md = (policy.down + PRIOR_T * 0.5) / n
    cycles = left / (mu + md)
    press = min(2 * h * cycles / max(1, slack), 10)
    run = spot.spell_s / job.gap_s
    share = (policy.up + SH * 0.47) / (policy.up + policy.down + SH)
    sur = share - job.work_left_s / job.gap_s / left
    if spot.available:
        if vm.held == 1:
            return 1
        if slack < 1 + h:
            return 2
        if vm.held == 0:
            return 1
        v = A0 + A1 * math.log1p(mu) + A2 * math.log1p(run) - h * (A3 + A4 * press) + A5 * spare - A6 / max(0.2, slack)
        if slack < 1 + 3 * h:
            v += A7 * h * max(0, 1 - cycles / CL)
        return 1 if v > 0 else 2
    v = W0 + W1 * spare + W2 * press * h + W3 * math.log1p(run) + W4 * h + W5 * math.log1p(mu) - W6 * math.log1p(md)
    v = v - W7 / max(0.05, spare) + W8 * max(0, sur)
    v += W19 * max(0, spare) * (share - SM)
    v = v + W17 * (math.log1p(policy.lastup) - 1.5) + W13 * h * math.log1p(run)
    v += W14 * (share - 0.47)
    if run < FL:
        v += W16 * ((policy.short + FN * FS) / (policy.done + FN) - FS)
    if 1 + 2 * h * G1 <= slack < 2 + h * G0:
        v = min(v, -1)
    if vm.held == 2:
        return 0 if v > K0 + K1 * h else 2
    return 0 if v > 0 else 2
