"""Hits per token: a node's requests over its size, as the title of an open request to SGLang, HPT, has it."""


def priority(now, node, server):
    return node.hits / node.tokens
