"""The Anvil source of a policy with its current parameters, and its recovery from exports without running them."""

from __future__ import annotations

import ast
import json
import re
import textwrap

from vulcan.anvil import Policy
from vulcan.anvil.parse import syntax_tree


def source_text(policy: Policy) -> str:
    """Return the policy's source, verbatim except for the values of parameters tuned after it was written."""
    tree = syntax_tree(policy.source)
    starts = [0, *(match.end() for match in re.finditer(b"\r\n|\r|\n", policy.source.encode()))]
    text = policy.source.encode()
    for node in reversed(tree.body):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in policy.parameters:
                if repr(float(ast.literal_eval(value))) != repr(policy.parameters[name]):  # -0.0 is not 0.0
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
"""The line above the source in the first comment of exported C."""


def policy_source(text: str) -> str:
    """Extract the source from an exported Python module, C header or evidence card; return any other text as is.

    A source from a C comment has the same meaning but may differ in text: sequences that C would misread in a comment
    are spelled differently there.
    """
    if HEADING in text and text.startswith("/*"):  # first, as a name in the policy may be what marks a module
        return _in_comment(text)
    if CARD in text and text.lstrip().startswith("{"):
        return _in_card(text)
    return _in_module(text) if MARKER in text else text


def _in_module(text: str) -> str:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text  # parsing it as Anvil will report the error
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
    head, end, _ = text.partition("\n */")
    _, _, comment = head.rpartition(f" * {HEADING}\n")  # the last: the policy's docstring, above, may have it too
    if not end or not comment:
        return text
    return textwrap.dedent("\n".join(line[3:] for line in comment.split("\n"))).lstrip("\n") + "\n"
