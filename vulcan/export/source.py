"""The Anvil source of a policy, with the parameters that it has now.

Reads the policy's source out of what was exported, without running it.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
import warnings

from vulcan.anvil import Policy


def source_text(policy: Policy) -> str:
    """The policy's source, verbatim but for the numbers of parameters that were tuned after it was written."""
    tree = ast.parse(policy.source)
    starts = [0, *(match.end() for match in re.finditer(b"\r\n|\r|\n", policy.source.encode()))]
    text = policy.source.encode()
    for node in reversed(tree.body):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if ast.literal_eval(value) != policy.parameters[name]:
                    start = starts[value.lineno - 1] + value.col_offset
                    end = starts[(value.end_lineno or value.lineno) - 1] + (value.end_col_offset or 0)
                    text = text[:start] + repr(policy.parameters[name]).encode() + text[end:]
            case _:
                pass
    return text.decode()


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
