"""The cost to compute a token of the node again, discounted by how long nobody used it."""

DEPTH_SCALE = 50000.0
HALF_LIFE = 120.0


def priority(now, node, server):
    idle = now - node.last_access
    return (node.hits + 1.0) * (1.0 + node.depth / DEPTH_SCALE) / (idle + HALF_LIFE)
