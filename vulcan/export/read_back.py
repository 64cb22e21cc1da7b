"""Reads the Anvil source out of an exported Python module, without running it."""

from __future__ import annotations

import ast
import warnings

MARKER = "VULCAN_EXPORT"
POLICY = "POLICY"


def policy_source(text: str) -> str:
    """The Anvil source that an exported module embeds; any other text as it is."""
    if MARKER not in text:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text  # whoever reads it as Anvil says where it is wrong
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    source = constants.get(POLICY)
    return source if MARKER in constants and isinstance(source, str) else text
