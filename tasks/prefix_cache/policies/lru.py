"""Least recently used."""


def priority(now, node, server):
    return node.last_access
