"""Least recently used, by blocks: vLLM's eviction, but that vLLM goes by when a block was last released."""

MECHANISM = "blocks"


def priority(now, node, server):
    return node.last_access
