"""Reads the policy's source out of what was exported, without running it."""

from __future__ import annotations

import ast
import json
import textwrap
import warnings

MARKER = "VULCAN_EXPORT"
POLICY = "POLICY"
CARD = "vulcan_evidence_card"
HEADING = "The policy as it was searched, in the language Anvil:"
"""In the first comment of C, the source stands below this line."""


def policy_source(text: str) -> str:
    """The source that an exported Python module, a C header or an evidence card carries; any other text as it is.

    From a comment of C it comes back with the same meaning: what C would misread in its comments is spelled otherwise.
    """
    if MARKER in text:
        return _in_module(text)
    if CARD in text and text.lstrip().startswith("{"):
        return _in_card(text)
    if HEADING in text and text.startswith("/*"):
        return _in_comment(text)
    return text


def _in_module(text: str) -> str:
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


def _in_card(text: str) -> str:
    try:
        card = json.loads(text)
    except (ValueError, RecursionError):
        return text
    policy = card.get("policy") if CARD in card else None
    source = policy.get("source") if isinstance(policy, dict) else None
    return source if isinstance(source, str) else text


def _in_comment(text: str) -> str:
    _, _, behind = text.partition(f" * {HEADING}\n")
    comment, end, _ = behind.partition("\n */")
    if not end:
        return text
    return textwrap.dedent("\n".join(line[3:] for line in comment.split("\n"))).lstrip("\n") + "\n"
