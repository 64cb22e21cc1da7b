"""For the leaderboard of one region: a language model's, from a recorded search that began with `spot_reserve`.

Beside the slack that starts will take, the surplus of the share of time with spot over what the work left needs, how
short the outages were so far, and how long the last spell of spot was. tests/data/recorded_spot has the search.
"""

import math

A0 = -0.269
A1 = 1.8
A2 = 0.501
A3 = 4.45
A4 = 0.364
A5 = 1.3
A6 = -0.025
W0 = -1.57
W1 = 35.4
W2 = -0.61
W3 = -0.443
W4 = -0.849
W5 = -0.35
W6 = 0.0165
W7 = 0.124
W8 = 4.06
SH = 50
K0 = 11.5
K1 = -2.35
PRIOR_N = 7.42
PRIOR_T = 82.3
G0 = 0.942
G1 = 1.08
U0 = 0.629
U1 = 0.811
A7 = 0.369
CL = 2.85
W14 = -0.583
W16 = 0.939
FN = 5.79
FS = 0.324
FL = 2.29
W17 = 0.244


class policy:
    ups = 0
    up = 0
    down = 0
    was = 0
    short = 0
    done = 0
    now = 0
    cu = 0
    lastgap = 3
    lastup = 3


def on_tick(job, spot, vm):
    if spot.available:
        policy.cu = policy.cu + 1 if policy.was > 0.5 else 1
        if policy.now > 0:
            policy.lastgap = policy.now
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
    v += W17 * (math.log1p(policy.lastup) - 1.5)
    v += W14 * (share - 0.47)
    if run < FL:
        v += W16 * ((policy.short + FN * FS) / (policy.done + FN) - FS)
    if 1 + 2 * h * G1 <= slack < 2 + h * G0:
        v = min(v, -1)
    if vm.held == 2:
        return 0 if v > K0 + K1 * h else 2
    return 0 if v > 0 else 2
