"""The source of a policy read back from its exports, without running them."""

from __future__ import annotations

import ast
import re
import textwrap

from vulcan.anvil.parse import syntax_tree

MARKER = "VULCAN_EXPORT"
POLICY = "POLICY"
HEADING = "The policy as it was searched, in the language Anvil:"
"""The line above the source in the first comment of exported C."""


def exported_for(text: str, what: str) -> str | None:
    """Return the `Task` that a module or header was exported for, or its `Guard`; None where it has none."""
    is_export = MARKER in text or HEADING in text
    found = re.search(rf"^(?: \* )?{what}: ([\w-]+)", text, re.MULTILINE) if is_export else None
    return found[1] if found else None


def policy_source(text: str) -> str:
    """Extract the source from an exported Python module or C header; return any other text as is.

    A source from a C comment has the same meaning but may differ in text: sequences that C would misread in a comment
    are spelled differently there.
    """
    if HEADING in text and text.startswith("/*"):  # first, as a name in the policy may be what marks a module
        return _in_comment(text)
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


def _in_comment(text: str) -> str:
    head, end, _ = text.partition("\n */")
    _, _, comment = head.rpartition(f" * {HEADING}\n")  # the last: the policy's docstring, above, may have it too
    if not end or not comment:
        return text
    return textwrap.dedent("\n".join(line[3:] for line in comment.split("\n"))).lstrip("\n") + "\n"
