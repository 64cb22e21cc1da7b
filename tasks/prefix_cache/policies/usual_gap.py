"""How soon the node is used again: by its usual gap, and how much of it has passed."""

START = 20.0


def priority(now, node, server):
    idle = now - node.last_access
    usual = node.gap + START
    return (node.hits + 1.0) * usual / (idle + usual) / (idle + usual)
