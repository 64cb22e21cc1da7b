"""How likely and how soon the node is asked for again, learned by kind, turn and size.

Nodes of a class are asked for again with a probability, after an exponential time. The longer one is idle, the likelier
it is one of those that never are.
"""

import math

TURNS = 2  # classes by turn beyond the first,
SIZES = 4  # and by the logarithm of the tokens
SMALLEST = 512.0
CLASSES = 256
USES = 4.0  # that every class is taken to have had, with this chance
CHANCE = 0.5
MEMORY = 0.995  # of a class, at each use,
GAP_MEMORY = 0.98  # and at each return
MOST = 0.98
ENDED = 0.02


class policy:
    uses = [0.0] * 256
    returns = [0.0] * 256
    gap = [1000.0] * 256  # s


class node:
    group = 0


def group_of(kind, turn, tokens):
    size = max(0.0, min(SIZES - 1.0, math.floor(math.log2(tokens / SMALLEST))))
    return min(CLASSES - 1.0, (kind * (TURNS + 1.0) + min(TURNS, turn - 1.0)) * SIZES + size)


def on_insert(now, node, server):
    node.group = group_of(node.kind, node.turn, node.tokens)
    policy.uses[node.group] = policy.uses[node.group] * MEMORY + 1.0
    policy.returns[node.group] *= MEMORY


def on_hit(now, node, server):
    policy.returns[node.group] += 1.0
    policy.gap[node.group] = policy.gap[node.group] * GAP_MEMORY + node.gap * (1.0 - GAP_MEMORY)
    node.group = group_of(node.kind, node.turn, node.tokens)
    policy.uses[node.group] = policy.uses[node.group] * MEMORY + 1.0
    policy.returns[node.group] *= MEMORY


def priority(now, node, server):
    idle = max(0.0, now - node.last_access)
    chance = min(MOST, (policy.returns[node.group] + USES * CHANCE) / (policy.uses[node.group] + USES))
    gap = 1.0 + policy.gap[node.group]
    still = chance * math.exp(-idle / gap)
    rate = still / (still + 1.0 - chance) / gap
    return rate * ENDED if node.ended else rate
