"""Takes the program out of a model's reply. Text is only read here, never run."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from vulcan.models.base import Reply
from vulcan.models.diff import apply_changes, has_changes, read_changes
from vulcan.models.no_source import NoSource

__all__ = ["LONGEST_REPLY", "NoSource", "extract_source"]

LONGEST_REPLY = 256 * 1024
"""Bytes of UTF-8; a policy's source is bounded to a sixteenth of it."""

_LONGEST_BARE_SOURCE = 64 * 1024
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)\Z")
_LANGUAGE = re.compile(r"[\w+#-]+")
_PYTHON = frozenset({"python", "python2", "python3", "py", "py3"})
_THOUGHTS = ("think", "thinking", "thought", "reasoning")


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    source: str
    closed: bool


def extract_source(reply: Reply, function: str, parent: str | None = None, others: Sequence[str] = ()) -> str:
    """The source of the program in the reply that defines `function`, and where there are `others` these too.

    That is the only code block, or the last of several that defines the functions, or else the main one; blocks of
    another language count only where there is none of Python or without a language. A reply with no code block may be
    the program itself. Reasoning in `<think>` tags is passed over. A name that begins with a capital is a class's.

    With the source of a `parent` the reply may instead be a diff against it, in blocks of SEARCH and REPLACE.

    Raises NoSource, with the rule `reply-too-long`, `truncated-reply`, `no-code-block`, `missing-function` or one of
    `vulcan.models.diff`.
    """
    text = reply.text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    text, endless = _without_thoughts(text)
    _check_length(text)
    blocks = [block for block in _blocks(text) if block.source.strip()]
    if endless or reply.finish == "length" or not all(block.closed for block in blocks):
        raise NoSource(
            "truncated-reply",
            "the reply was cut off before its end",
            "write less before the code, keep the program short, and close the code block",
        )
    if parent is not None and has_changes(text):
        return _finished(apply_changes(parent, read_changes(text)))
    if not blocks:
        return _bare_source(text, function)
    return _choose(blocks, function, others)


def _check_length(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LONGEST_REPLY:
        raise NoSource(
            "reply-too-long",
            f"the reply has {size} bytes, and {LONGEST_REPLY} is the most that is read",
            "answer with one short Python code block",
        )


def _without_thoughts(text: str) -> tuple[str, bool]:
    """The text without its reasoning, and whether the reasoning never ended."""
    # The opening tag is missing where the server's chat template ends the prompt with it
    first = text.find("</think>")
    if first >= 0 and text.find("<think>", 0, first) < 0:
        text = text[first + len("</think>") :]
    for tag in _THOUGHTS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        kept: list[str] = []
        place = 0
        for match in re.finditer(rf"^[ \t]*{opening}", text, re.MULTILINE):
            if match.start() < place:
                continue
            end = text.find(closing, match.end())
            if end < 0:
                return "".join(kept) + text[place : match.start()], True
            kept.append(text[place : match.start()])
            place = end + len(closing)
        text = "".join(kept) + text[place:]
    return text, False


def _blocks(text: str) -> list[_Block]:
    """The fenced code blocks (CommonMark section 4.5, at any indentation); only the last can be unclosed."""
    blocks: list[_Block] = []
    indent = fence = language = ""
    lines: list[str] = []
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match[2].startswith(fence) and not match[3].strip():
                blocks.append(_Block(language, _unindented(lines, indent), True))
                fence = ""
            else:
                lines.append(line)
        elif match and not (match[2][0] == "`" and "`" in match[3]):  # else it is code in a line of prose
            indent, fence, language = match[1], match[2], _language(match[3])
            lines = []
    if fence:
        blocks.append(_Block(language, _unindented(lines, indent), False))
    return blocks


def _language(info: str) -> str:
    match = _LANGUAGE.search(info)
    return match[0].lower() if match else ""


def _unindented(lines: list[str], indent: str) -> str:
    """The lines without the fence's indentation, and without one that they all share."""
    return textwrap.dedent("\n".join(line.removeprefix(indent) for line in lines))


def _defines(source: str, function: str) -> bool:
    keyword, end = ("class", "[(:]") if _is_class(function) else ("def", r"\(")
    return re.search(rf"^{keyword}[ \t]+{re.escape(function)}[ \t]*{end}", source, re.MULTILINE) is not None


def _is_class(name: str) -> bool:
    """Whether that is what the reply is to define: functions have no capitals."""
    return name[:1].isupper()


def _head(name: str) -> str:
    return f"class {name}" if _is_class(name) else f"def {name}(...)"


def _choose(blocks: list[_Block], function: str, others: Sequence[str]) -> str:
    likely = [block for block in blocks if not block.language or block.language in _PYTHON]
    for group in (likely, blocks):
        defining = [block for block in group if _defines(block.source, function)]
        if defining:
            whole = [block for block in defining if all(_defines(block.source, other) for other in others)]
            return _finished((whole or defining)[-1].source)
    if len(likely) == 1:
        return _finished(likely[0].source)  # the checker says best what is missing in it
    alone = len(blocks) == 1
    blame = "the code block does not define" if alone else f"none of {len(blocks)} code blocks defines"
    raise NoSource(
        "missing-function",
        f"{blame} {function}",
        "answer with one Python code block that holds the whole program, with "
        f"{' and '.join(map(_head, (function, *others)))} in it",
    )


def _bare_source(text: str, function: str) -> str:
    if len(text) <= _LONGEST_BARE_SOURCE and _defines(text, function) and _parses(text):
        return _finished(text)
    raise NoSource(
        "no-code-block",
        "the reply holds no code block",
        f"answer with one Python code block, between ```python and ```, that defines {function}",
    )


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python finds odd in a model's text is nobody's concern
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _finished(source: str) -> str:
    return source.strip("\n") + "\n"
