"""Which program is taken out of a reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vulcan.models.base import Reply
from vulcan.models.reply_parser import MAX_REPLY, NoSource, extract_source

SOURCE = "def priority(now):\n    return now\n"
OTHER = "def priority(now):\n    return -now\n"
HELPER = "def helper(now):\n    return 2 * now\n"


def taken(text: str, finish: str = "stop") -> str:
    return extract_source(Reply(text, "m", finish, None, None, None, 0.0), "priority")


def rule(text: str, finish: str = "stop") -> str:
    with pytest.raises(NoSource) as caught:
        taken(text, finish)
    assert caught.value.message
    assert caught.value.hint
    return caught.value.rule


def block(source: str, info: str = "python", fence: str = "```") -> str:
    return f"{fence}{info}\n{source}{fence}\n"


@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "~~~~"])
@pytest.mark.parametrize("info", ["python", "", "Python", "py", " python", "{.python .numberLines}", "python:p.py"])
def test_the_only_block_is_taken_whatever_its_fence(fence: str, info: str) -> None:
    assert taken(f"Here it is.\n\n{block(SOURCE, info, fence)}\nIt is fast.") == SOURCE


def test_the_last_block_that_defines_the_function_is_taken() -> None:
    assert taken(block(SOURCE) + "Better:\n" + block(OTHER) + "Use:\n" + block("x = priority(1)\n")) == OTHER


def test_blocks_of_other_languages_do_not_count_beside_python() -> None:
    shell = block("def priority(\n", "bash")
    assert taken(shell + block(SOURCE) + shell) == SOURCE
    assert taken(block("pip install vulcan\n", "sh") + block(HELPER)) == HELPER
    assert taken(block("{}\n", "json") + block(SOURCE, "")) == SOURCE


def test_indented_fences_lose_their_indentation() -> None:
    assert taken("1. First:\n   ```python\n   def priority(now):\n       return now\n   ```\n") == SOURCE
    assert taken("```python\n    def priority(now):\n        return now\n```") == SOURCE
    ragged = '   ```python\n   def priority(now):\n       """Newest\nfirst."""\n       return now\n   ```\n'
    assert taken(ragged) == 'def priority(now):\n    """Newest\nfirst."""\n    return now\n'
    assert taken("\t```python\n\tdef priority(now):\n\t    return now\n\t```\n") == SOURCE


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_foreign_line_ends_are_read(end: str) -> None:
    assert taken(("Here:\n" + block(SOURCE)).replace("\n", end)) == SOURCE


def test_a_fence_is_closed_by_one_of_its_kind_only() -> None:
    quoting = 'def priority(now):\n    """\n```\n    """\n    return now\n'
    assert taken(block(quoting, fence="````")) == quoting
    assert taken(block(quoting, fence="~~~")) == quoting


def test_a_reply_that_is_the_program_itself_is_taken() -> None:
    assert taken(SOURCE) == SOURCE
    assert taken("\ufeff" + SOURCE) == SOURCE


@pytest.mark.parametrize("text", ["", "   \n", "I cannot.", HELPER, "Here:\n" + SOURCE, "```python\n```\n"])
def test_a_reply_without_a_program_is_refused(text: str) -> None:
    assert rule(text) == "no-code-block"


def test_a_truncated_reply_is_refused() -> None:
    assert rule(block(SOURCE), finish="length") == "truncated-reply"
    assert rule(SOURCE, finish="length") == "truncated-reply"
    assert rule("```python\ndef priority(now):\n    return (now +\n", finish="unknown") == "truncated-reply"
    assert rule("<think>\nFirst, " + block(SOURCE)) == "truncated-reply"


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{SOURCE}",
        f"```python\n{SOURCE}\nIt takes the newest.\nThat is fast.",
        f"{SOURCE}```\nIt takes the newest.",
        f"{SOURCE}```",
        f"{block(SOURCE)}It is fast.\n```\nIndeed it is.",
        f"{block(SOURCE)}Or:\n```python\ndef priority(now):\n    return (now +",
        f"```python\n{SOURCE}```<|im_end|>",
        f"{block(SOURCE)}<|im_end|>\n<|im_start|>user\nBetter:\n{block(OTHER)}",
        f"<|im_start|>assistant\n{block(SOURCE)}<|endoftext|>",
        f"```python\n{SOURCE}</s>",
        f"{SOURCE}<end_of_turn>",
    ],
)
def test_a_complete_program_is_taken_whatever_stands_after_it(text: str) -> None:
    assert taken(text) == SOURCE


def test_invisible_characters_are_blanks_or_nothing() -> None:
    odd = "\u200bdef\u00a0priority(now):\n\u00a0\u2003\u202f return\u2060 now\u200d\n"
    assert taken(block(odd)) == SOURCE


@pytest.mark.parametrize("tag", ["think", "thinking", "thought", "reasoning"])
def test_reasoning_is_passed_over(tag: str) -> None:
    assert taken(f"<{tag}>\nMaybe:\n{block(OTHER)}</{tag}>\n{block(SOURCE)}") == SOURCE
    assert taken(f"{block(SOURCE)}<{tag}>\nOr rather:\n{block(OTHER)}</{tag}>\n") == SOURCE
    assert rule(f"<{tag}>\n{block(OTHER)}</{tag}>\nI give up.") == "no-code-block"


def test_a_giant_reply_is_refused() -> None:
    filler = block(SOURCE)
    assert taken(filler + "x" * (MAX_REPLY - len(filler))) == SOURCE
    assert rule(filler + "x" * (MAX_REPLY - len(filler) + 1)) == "reply-too-long"
    assert rule(filler + "é" * (MAX_REPLY // 2)) == "reply-too-long"


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 36_000,
        "<think>\n" * 100_000 + "</think>",
        "<think></think>\n" * 100_000,
        "```\n" * 60_000,
        "```python\n```\n" * 15_000,
        "`" * 250_000,
        " " * 250_000 + "```",
        "def priority(x):\n  return " + "-" * 60_000 + "1\n",
        "def priority(x):\n  return " + "(" * 60_000,
        "def priority(x):\n  return x" + ".a" * 30_000 + "\n",
        "def priority(x):\n" + "".join(" " * n + "if x:\n" for n in range(1, 350)),
        "def priority(x):\n  return '\x00'\n",
        "def priority(x):\n  return '\ud800'\n",
        "\ud800" * 1000 + block(SOURCE, "\ud800"),
    ],
    ids=lambda text: repr(text[:30]),
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_hostile_text_gives_a_source_or_a_reason(text: str) -> None:
    for reply in (text, block(text)):
        try:
            assert taken(reply)
        except NoSource as refused:
            assert refused.rule


@given(
    st.lists(st.sampled_from([SOURCE, OTHER, HELPER]), min_size=1, max_size=4),
    st.sampled_from(["```", "~~~"]),
)
def test_what_is_taken_is_one_of_the_blocks(sources: list[str], fence: str) -> None:
    text = "words\n".join(block(source, fence=fence) for source in sources)
    defining = [source for source in sources if source != HELPER]
    if defining:
        assert taken(text) == defining[-1]
    elif len(sources) == 1:
        assert taken(text) == HELPER
    else:
        assert rule(text) == "missing-function"
