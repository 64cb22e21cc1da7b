"""Of a search of the offline generator with the task's policies: candidate 303, by blocks, from `returning`."""

import math

from vulcan.anvil import hash

MECHANISM = "blocks"

HITS = 2
SIZES = 4.1
SMALLEST = 601
CLASSES = 71.2
USES = 4
MEMORY = 0.995
GAP_MEMORY = 0.98
MOST = 0.98
OWN = 0.3
ENDED = -0.439
CONSTANT = 2
CONSTANT_2 = 2
CONSTANT_3 = 2
CONSTANT_4 = 2
CONSTANT_5 = 2
CONSTANT_6 = 2
START = 0.439
STEP = 0.000721
STEP_2 = 0.103
WEIGHT = 0.364
FLOOR = 0.01
FLOOR_2 = 1
THRESHOLD = 13.6
FACTOR = 0.73
DECAY = 0.379
FLOOR_3 = 1


class policy:
    uses = [0] * 256
    returns = [0] * 128
    gap = [300] * 256
    target = START
    sketch = [0] * 4096
    hand = 0


class node:
    group = 0
    count_kept = 0


def group_of(kind, hits, tokens):
    size = max(0, min(SIZES - 1, math.floor(math.log2(tokens / SMALLEST))))
    often = min(HITS, math.floor(math.log2(hits)))
    return min(CLASSES - 1, (kind * (HITS + 1) + often) * SIZES + size)


def on_hit(now, node, server):
    policy.returns[node.group] += 1
    policy.gap[node.group] = policy.gap[node.group] * GAP_MEMORY + node.gap * (1 - GAP_MEMORY)
    node.group = group_of(node.kind, node.hits, node.tokens)
    policy.uses[node.group] = policy.uses[node.group] * MEMORY + 1
    policy.returns[node.group] *= MEMORY


def on_insert(now, node, server):
    node.group = group_of(node.kind, node.hits, node.tokens)
    policy.uses[node.group] = policy.uses[node.group] * MEMORY + 1
    policy.returns[node.group] *= MEMORY
    policy.target = min(policy.target + STEP, 1)


def on_evict(now, node, server):
    policy.target = max(policy.target - STEP_2, 0)
    node.count_kept += 1
    policy.sketch[hash(node.id, 0)] += 1
    policy.sketch[policy.hand] *= DECAY
    policy.hand += 1


def priority(now, node, server):
    since_created = node.last_access - node.created
    part = max(0, since_created)
    part_2 = OWN * part
    part_3 = node.hits - 1
    part_4 = OWN * part_3
    part_5 = 1 + part_4
    since_last_access = now - node.last_access
    part_6 = max(0, since_last_access)
    part_7 = policy.uses[node.group] + USES
    part_8 = policy.gap[node.group] + part_2
    part_9 = part_8 / part_5
    part_10 = 1 + part_9
    part_11 = -part_6 / part_10
    return (
        (
            min(MOST, (policy.returns[node.group] + CONSTANT) / part_7)
            * math.exp(-max(0, now - abs(node.created - node.last_access)) / part_10)
            / (
                min(MOST, (policy.returns[node.group] + CONSTANT_2) / part_7)
                * (since_last_access / ((FACTOR * now if node.depth > THRESHOLD else now) - node.gap + FLOOR_2))
                + 1
                - min(MOST, (policy.returns[node.group] + CONSTANT_3) / part_7)
            )
            / part_10
            * ENDED
            if node.ended
            else min(MOST, (policy.returns[node.group] + CONSTANT_4) / part_7)
            * math.exp(part_11)
            / (
                min(MOST, (policy.returns[node.group] + CONSTANT_5) / part_7) * math.exp(part_11)
                + 1
                - (policy.returns[node.group] + CONSTANT_6) / part_7
            )
            / part_10
        )
        * (1 + WEIGHT * math.sqrt(policy.target + FLOOR))
        * (node.count_kept + 1)
        * math.log1p(policy.sketch[hash(node.id, 0)] + FLOOR_3)
    )
