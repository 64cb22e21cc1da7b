"""The Anvil source of a policy, with the parameters that it has now."""

from __future__ import annotations

import ast
import re

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
