"""How long the node is unused, for which long conversations and what many use have time, and ended sessions none."""

START = 50.0
TURNS = 0.3
HITS = 0.5
ENDED = 50.0


def priority(now, node, server):
    unused = (now - node.last_access + START) * (1.0 + ENDED * node.ended)
    return -unused / (1.0 + node.turn) ** TURNS / node.hits**HITS
