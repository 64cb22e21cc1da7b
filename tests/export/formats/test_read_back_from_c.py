"""The policy is read back out of an export, a C header's first comment too, whatever is in its own comments."""

from __future__ import annotations

import pytest

from vulcan.anvil import check
from vulcan.export import Provenance, policy_source
from vulcan.export.c.double_header import double_header
from vulcan.registry import find_task

TASK = find_task("cache_eviction")
PLAIN = "A = 0.5\n\n\ndef priority(now, obj, cache, ghost):\n    return obj.count * A\n"
AWKWARD = (
    '"""Ends */ a comment, begins /* one, and has a \\\\ and\na line without indentation."""\n\n'
    "# comment of its own: */\ndef priority(now, obj, cache, ghost):\n\n    # with a blank line above\n"
    "    if obj.size / 2 > 3 * obj.count:  \n        return 1\n    return 2"
)


HEAD = "def priority(now, obj, cache, ghost):\n"
SOURCES = {
    "plain": PLAIN,
    "awkward": AWKWARD,
    "lines as on Windows": AWKWARD.replace("\n", "\r\n"),
    "tabs": PLAIN.replace("    return", "\treturn"),
    "blank lines first": "\n\n" + PLAIN,
    "marker of a module": f"VULCAN_EXPORT = 1\n{HEAD}    return obj.count * VULCAN_EXPORT\n",
    "heading in the docstring": '"""A policy.\n\nThe policy as it was searched, in the language Anvil:\n"""\n'
    f"{HEAD}    return obj.count\n",
    "form feeds": f"# a\fform feed and a \x1c in a remark\n\f\n{HEAD}    return\fobj.count\n",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_policy_is_read_back(source: str) -> None:
    policy = check(source, TASK)
    text = double_header(policy, Provenance(TASK.name, "a.py", "", "", ""))
    read = check(policy_source(text), TASK)
    assert (read.fingerprint, read.parameters) == (policy.fingerprint, policy.parameters)
    if source == PLAIN:
        assert policy_source(text) == PLAIN


@pytest.mark.parametrize(
    "text",
    [
        PLAIN, "", "not python (", "VULCAN_EXPORT = 1\n", "POLICY = 'x'\n", "VULCAN_EXPORT = 1\nPOLICY = f()\n",
        "VULCAN_EXPORT = 1\ndef f():\n    POLICY = 'x'\n", "VULCAN_EXPORT = 1\nPOLICY = 'x\n",
        "VULCAN_EXPORT = 1\nPOLICY = 3\n" + PLAIN,
        "/*\n * The policy as it was searched, in the language Anvil:\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_an_export_stays_as_it_is(text: str) -> None:
    assert policy_source(text) == text
