"""A reply may be a diff against its parent, in blocks of SEARCH and REPLACE."""

from __future__ import annotations

import difflib

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.models.base import Reply
from vulcan.models.reply_parser import DiffBlock, NoSource, apply_diff, extract_source

PARENT = """\
WEIGHT = 0.5


def priority(now, obj, cache, ghost):
    idle = now - obj.last_access
    if obj.size > 100:
        return -idle
    return WEIGHT * obj.count - idle
"""


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def taken(text: str, finish: str = "stop", parent: str | None = PARENT) -> str:
    return extract_source(Reply(text, "m", finish, None, None, None, 0.0), "priority", parent)


def fault(text: str, finish: str = "stop") -> NoSource:
    with pytest.raises(NoSource) as caught:
        taken(text, finish)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("fence", ["```diff\n{}```\n", "```\n{}```\n", "```python\n{}```", "{}"])
def test_the_fence_around_the_blocks_does_not_matter(fence: str) -> None:
    made = taken(fence.format(block("    return WEIGHT * obj.count - idle\n", "    return obj.count\n")))
    assert made.endswith("        return -idle\n    return obj.count\n")


def test_white_space_that_differs_is_overlooked_and_the_new_lines_are_indented_as_the_old_ones_were() -> None:
    made = taken(block("if  obj.size > 100:\n    return -idle \n\n", "if obj.size > 200:\n    return 2 * idle\n"))
    assert made == PARENT.replace("size > 100", "size > 200").replace("return -idle", "return 2 * idle")


def test_without_a_parent_blocks_are_no_program() -> None:
    change = block("WEIGHT = 0.5\n", "WEIGHT = 2.0\n")
    with pytest.raises(NoSource) as caught:
        taken(f"```diff\n{change}```\n", parent=None)
    assert caught.value.rule == "missing-function"


def test_lines_that_are_not_there_are_named_with_what_is_nearest() -> None:
    found = fault(block("    return WEIGHT * obj.counts - idle\n", "    return 1\n"))
    assert found.rule == "diff-no-match"
    assert "block 1" in found.message
    assert "`return WEIGHT * obj.counts - idle`" in found.message
    assert "`return WEIGHT * obj.count - idle`" in found.message


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (block("", "x = 1\n"), "diff-empty-search"),
        (block("\n   \n", "x = 1\n"), "diff-empty-search"),
        (block("WEIGHT = 0.5\n", "WEIGHT = 0.5\n"), "diff-no-change"),
        ("<<<<<<< SEARCH\nWEIGHT = 0.5\n=======\nWEIGHT = 2.0\n", "diff-malformed"),
        ("<<<<<<< SEARCH\nWEIGHT = 0.5\n>>>>>>> REPLACE\n", "diff-malformed"),
        ("<<<<<<< SEARCH\nWEIGHT = 0.5\n<<<<<<< SEARCH\nWEIGHT = 2.0\n=======\n>>>>>>> REPLACE\n", "diff-malformed"),
    ],
)
def test_what_is_wrong_with_a_diff_is_a_rule(text: str, rule: str) -> None:
    assert fault(text).rule == rule


def test_a_diff_that_was_cut_off_is_truncated_and_not_half_applied() -> None:
    whole = block("WEIGHT = 0.5\n", "WEIGHT = 2.0\n")
    assert fault(whole + "<<<<<<< SEARCH\n    idle", finish="length").rule == "truncated-reply"
    assert fault("```diff\n" + whole, finish="unknown").rule == "truncated-reply"


LINES = st.lists(
    st.sampled_from(["a = 1", "b = 2", "    c = 3", "", "        return d", "if e:"]), min_size=1, max_size=12
)


def changes_between(old: list[str], new: list[str]) -> list[DiffBlock]:
    """A block for each difference, from the last to the first, each with all lines before it as context."""
    found: list[DiffBlock] = []
    for tag, start, stop, first, last in reversed(difflib.SequenceMatcher(None, old, new, False).get_opcodes()):
        if tag != "equal":
            found.append(DiffBlock(tuple(old[:start] + old[start:stop]), tuple(old[:start] + new[first:last])))
    return found


@given(LINES, LINES)
@settings(max_examples=examples(300))
def test_a_diff_made_from_two_texts_turns_the_one_into_the_other(old: list[str], new: list[str]) -> None:
    # An end that is marked makes lines that are all context unique, and a beginning gives insertions something to find
    old, new = ["BEGIN = 0", *old, "END = 0"], ["BEGIN = 0", *new, "END = 0"]
    changes = changes_between(old, new)
    source, wanted = "\n".join(old) + "\n", "\n".join(new) + "\n"
    if old == new:
        with pytest.raises(NoSource, match="diff-no-change"):
            apply_diff(source, changes)
        return
    assert apply_diff(source, changes) == wanted
    text = "".join(block("\n".join(c.search) + "\n", "".join(f"{line}\n" for line in c.replace)) for c in changes)
    assert taken(text, parent=source) == wanted


def test_lines_that_do_not_stand_together_are_told_so() -> None:
    found = fault(block("WEIGHT = 0.5\n    idle = now - obj.last_access\n", ""))
    assert found.rule == "diff-no-match"
    assert "in this order" in found.message


def test_lines_that_occur_twice_are_ambiguous() -> None:
    twice = PARENT + "\n\n" + PARENT.replace("priority", "other")
    with pytest.raises(NoSource, match="occur 2 times") as caught:
        taken(block("    idle = now - obj.last_access\n", ""), parent=twice)
    assert caught.value.rule == "diff-ambiguous"
