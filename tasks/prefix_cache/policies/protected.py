"""Segmented LRU: what was hit twice leaves after what was not."""

PROTECTED_HITS = 2


def priority(now, node, server):
    if node.hits >= PROTECTED_HITS:
        return node.last_access
    return node.last_access - 1e6
