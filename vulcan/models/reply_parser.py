"""Extract the program from a model's reply: code blocks, or diffs of SEARCH/REPLACE blocks. Nothing is run here."""

from __future__ import annotations

import difflib
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vulcan.anvil.parse import syntax_tree
from vulcan.models.base import Reply
from vulcan.models.completion import REASONING

_WHOLE = "or give the complete module in one Python code block"

_HINTS = {
    "diff-no-change": f"change something, {_WHOLE}",
    "diff-empty-search": "to insert lines, search for the line before them and repeat it among the new ones",
    "diff-no-match": f"copy the lines as they are, abbreviate nothing, {_WHOLE}",
    "diff-ambiguous": f"search for more lines, so that they occur once, {_WHOLE}",
    "diff-malformed": "write a line <<<<<<< SEARCH, the old lines, a line =======, the new lines, a line "
    f">>>>>>> REPLACE, {_WHOLE}",
    "truncated-reply": "write less before the code, keep the program short, and close the code block",
    "reply-too-long": "answer with one short Python code block",
}


class NoSource(Exception):
    """A reply without a usable program: `rule` names what is wrong, `hint` says what to do instead."""

    def __init__(self, rule: str, message: str, hint: str = "") -> None:
        self.rule = rule
        self.message = message
        self.hint = hint or _HINTS[rule]
        super().__init__(f"{rule}: {message}; {self.hint}")


_SEARCH = re.compile(r"([ \t]*)<{5,9}[ \t]*SEARCH\b.*\Z", re.IGNORECASE)
_MIDDLE = re.compile(r"[ \t]*={5,9}[ \t]*\Z")
_REPLACE = re.compile(r"[ \t]*>{5,9}[ \t]*REPLACE\b.*\Z", re.IGNORECASE)
_MAX_QUOTE = 100


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """A SEARCH/REPLACE block: lines of the program, and their replacement."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


def has_diff(text: str) -> bool:
    """Check whether a reply contains the start of a diff block."""
    return any(_SEARCH.match(line) for line in text.split("\n"))


def parse_diff(text: str) -> tuple[DiffBlock, ...]:
    """Parse the diff blocks of a reply, in order. Raises NoSource with the rule `diff-malformed`."""
    found: list[DiffBlock] = []
    search: list[str] = []
    replace: list[str] = []
    part, indent = "", ""
    for line in text.split("\n"):
        if (match := _SEARCH.match(line)) is not None:
            if part:
                raise NoSource("diff-malformed", f"block {len(found) + 1} begins before the block above it has ended")
            part, indent, search, replace = "search", match[1], [], []
        elif part == "search" and _MIDDLE.match(line):
            part = "replace"
        elif part and _REPLACE.match(line):
            if part == "search":
                raise NoSource("diff-malformed", f"block {len(found) + 1} has no line ======= between its two parts")
            found.append(DiffBlock(tuple(search), tuple(replace)))
            part = ""
        elif part:
            (search if part == "search" else replace).append(line.removeprefix(indent))
    if part:
        raise NoSource("diff-malformed", f"block {len(found) + 1} has no line >>>>>>> REPLACE at its end")
    return tuple(found)


def apply_diff(source: str, changes: Sequence[DiffBlock]) -> str:
    """Apply diff blocks to a program, one after the other.

    A block's lines must occur exactly once. Failing that, lines that differ in white space alone match, and the new
    lines are re-indented accordingly. Raises NoSource with the rule `diff-empty-search`, `diff-no-match`,
    `diff-ambiguous` or `diff-no-change`.
    """
    before = source.rstrip("\n").split("\n")
    lines = before
    for number, change in enumerate(changes, 1):
        lines = _changed(lines, change, number)
    if lines == before:
        raise NoSource("diff-no-change", "the blocks leave the program as it was")
    return "\n".join(lines) + "\n"


def _changed(lines: list[str], change: DiffBlock, number: int) -> list[str]:
    if not any(line.strip() for line in change.search):
        raise NoSource("diff-empty-search", f"block {number} has nothing to search for")
    if (start := _place(lines, change.search, number)) is None:
        return _loosely_changed(lines, change, number)
    return [*lines[:start], *change.replace, *lines[start + len(change.search) :]]


def _loosely_changed(lines: list[str], change: DiffBlock, number: int) -> list[str]:
    """Apply as `_changed` does, matching lines up to white space and ignoring empty lines at either end."""
    search, replace = _trimmed(change.search), _trimmed(change.replace)
    start = _place([_plain(line) for line in lines], [_plain(line) for line in search], number)
    if start is None:
        raise _no_match(lines, search, number)
    new = _indented(replace, _indent(search[0]), _indent(lines[start]))
    return [*lines[:start], *new, *lines[start + len(search) :]]


def _place(lines: Sequence[str], search: Sequence[str], number: int) -> int | None:
    """Return where the lines of a block are found. Raises NoSource where that is in several places."""
    starts = range(len(lines) - len(search) + 1)
    places = [start for start in starts if list(lines[start : start + len(search)]) == list(search)]
    if len(places) > 1:
        raise NoSource("diff-ambiguous", f"the lines that block {number} searches for occur {len(places)} times")
    return places[0] if places else None


def _trimmed(lines: Sequence[str]) -> list[str]:
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def _plain(line: str) -> str:
    return " ".join(line.split())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indented(lines: Sequence[str], old: str, new: str) -> list[str]:
    """Re-indent lines; one that lies further left than the old indentation stays where it can."""
    moved: list[str] = []
    for line in lines:
        if not line.strip():
            moved.append("")
        elif line.startswith(old):
            moved.append(new + line.removeprefix(old))
        else:
            moved.append(new[: max(0, len(new) - len(old) + len(_indent(line)))] + line.lstrip())
    return moved


def _no_match(lines: Sequence[str], search: Sequence[str], number: int) -> NoSource:
    """Name the first line that is not in the program and its closest match, or else say that the order differs."""
    known = {_plain(line) for line in lines}
    missing = next((line for line in search if _plain(line) and _plain(line) not in known), None)
    if missing is None:
        return NoSource(
            "diff-no-match",
            f"the lines that block {number} searches for do not stand together in this order",
            f"copy consecutive lines as they are, {_WHOLE}",
        )
    near = difflib.get_close_matches(missing.strip(), [line.strip() for line in lines if line.strip()], 1, 0.6)
    meant = f"; the nearest line is `{_quoted(near[0])}`" if near else ""
    wanted = _quoted(missing.strip())
    return NoSource("diff-no-match", f"block {number} searches for `{wanted}`, which is not in the program{meant}")


def _quoted(line: str) -> str:
    return line if len(line) <= _MAX_QUOTE else f"{line[:_MAX_QUOTE]}..."


MAX_REPLY = 256 * 1024
"""In bytes of UTF-8; a policy's source is limited to a sixteenth of it."""

_MAX_BARE_SOURCE = 64 * 1024
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)\Z")
_LANGUAGE = re.compile(r"[\w+#-]+")
_PYTHON = frozenset({"python", "python2", "python3", "py", "py3"})
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|return|user|end_of_sentence)\|>|</s>|<end_of_turn>|<eos>"
    r"|<｜end▁of▁sentence｜>"
)
_OTHER_TOKEN = re.compile(r"<\|[a-z_]{2,30}\|>|<start_of_turn>|<bos>")
"""Tokens between turns, which some servers leave in their replies."""

_BLANKS = re.compile(r"[^\S\t\n\r\f\v ]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_MAX_TOP_LINES = 40
_THOUGHTS = ("think", "thinking", "thought", "reasoning")


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    source: str
    closed: bool


def extract_source(reply: Reply, function: str, parent: str | None = None, others: Sequence[str] = ()) -> str:
    """Extract the program that defines `function`, and `others` where there are any, from a reply.

    That is the last code block that defines all of them, or else the last that defines `function`, or the only one;
    blocks of another language count only where none is Python or unlabelled. A reply without a code block may be the
    program itself, or JSON with the program in it. A complete program is taken whatever stands after it, the fence that
    ends its block or not. Reasoning in `<think>` tags is passed over. A name that begins with a capital is a class's.

    With the source of a `parent` the reply may instead be a diff against it, in blocks of SEARCH and REPLACE.

    Raises NoSource, with the rule `reply-too-long`, `truncated-reply`, `no-code-block`, `missing-function` or one of
    `vulcan.models.reply_parser`.
    """
    answer, _, reasoning = reply.text.partition(REASONING)
    try:
        return _from_text(answer, reply.finish, function, parent, others)
    except NoSource as missing:
        if not reasoning or missing.rule not in ("no-code-block", "missing-function"):
            raise
    return _from_text(reasoning, reply.finish, function, parent, others)


def _from_text(text: str, finish: str, function: str, parent: str | None, others: Sequence[str]) -> str:
    text, endless = _without_thoughts(_cleaned(text))
    if (size := len(text.encode("utf-8", "surrogatepass"))) > MAX_REPLY:
        raise NoSource("reply-too-long", f"the reply has {size} bytes, and {MAX_REPLY} is the most that is read")
    blocks = [block for block in _blocks(text) if block.source.strip()]
    if endless or finish == "length":
        raise NoSource("truncated-reply", "the reply was cut off before its end")
    cut = blocks.pop() if blocks and not blocks[-1].closed else None
    if parent is not None and has_diff(text):
        if cut is not None and finish != "stop":  # blocks may be missing
            raise NoSource("truncated-reply", "the reply was cut off before its end")
        return _finished(apply_diff(parent, parse_diff(text)))
    if not any(_defines(block.source, function) for block in blocks):
        texts = [*([cut.source] if cut else []), *([] if blocks else [text]), *_texts_in_json(text, blocks)]
        if program := next(filter(None, (_leading_program(one, function) for one in texts)), None):
            return _finished(program)
        if cut is not None:
            if finish != "stop":
                raise NoSource("truncated-reply", "the reply was cut off before its end")
            blocks.append(cut)  # the checker says best what is wrong in it
    if not blocks:
        hint = f"answer with one Python code block, between ```python and ```, that defines {function}"
        raise NoSource("no-code-block", "the reply holds no code block", hint)
    return _choose(blocks, function, others)


def _cleaned(text: str) -> str:
    """Return the text with plain line ends and blanks, without invisible characters and tokens that end a turn."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _BLANKS.sub(" ", _INVISIBLE.sub("", text))
    text = next((part for part in _END_OF_TURN.split(text) if part.strip()), "")
    return _OTHER_TOKEN.sub("\n", text)


def _leading_program(text: str, function: str) -> str | None:
    """Return the program at the start of a text: the most lines that parse, up to one that begins at the margin.

    So no function is cut off in its middle. None if that does not define `function`.
    """
    if len(text) > _MAX_BARE_SOURCE or not _defines(text, function):
        return None
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line and not line[0].isspace()][-_MAX_TOP_LINES:]
    for end in (len(lines), *reversed(ends)):
        program = "\n".join(lines[:end])
        if not _defines(program, function):
            return None
        if _parses(program):
            return program
    return None


def _texts_in_json(text: str, blocks: Sequence[_Block]) -> Iterator[str]:
    """Return every text in a reply that is JSON, or in its blocks of JSON, the last first."""
    for source in (*(block.source for block in reversed(blocks)), text):
        if source.lstrip().startswith(("{", "[")):
            try:
                yield from reversed(list(_strings(json.loads(source, strict=False))))
            except (ValueError, RecursionError):
                continue


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        blocks = _blocks(value)
        yield blocks[-1].source if blocks else value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _without_thoughts(text: str) -> tuple[str, bool]:
    """Strip the reasoning from the text, and say whether it was left unclosed."""
    # The opening tag is missing where the server's chat template ends the prompt with it
    first = text.find("</think>")
    if first >= 0 and text.find("<think>", 0, first) < 0:
        text = text[first + len("</think>") :]
    for tag in _THOUGHTS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        kept: list[str] = []
        start = 0
        for match in re.finditer(rf"^[ \t]*{opening}", text, re.MULTILINE):
            if match.start() < start:
                continue
            end = text.find(closing, match.end())
            if end < 0:
                return "".join(kept) + text[start : match.start()], True
            kept.append(text[start : match.start()])
            start = end + len(closing)
        text = "".join(kept) + text[start:]
    return text, False


def _blocks(text: str) -> list[_Block]:
    """Find fenced code blocks (CommonMark section 4.5, at any indentation); only the last can be unclosed."""
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
            indent, fence = match[1], match[2]
            language = next(iter(_LANGUAGE.findall(match[3])), "").lower()
            lines = []
    if fence:
        blocks.append(_Block(language, _unindented(lines, indent), False))
    return blocks


def _unindented(lines: list[str], indent: str) -> str:
    """Remove the fence's indentation from the lines, and any that they all share."""
    return textwrap.dedent("\n".join(line.removeprefix(indent) for line in lines))


def _defines(source: str, function: str) -> bool:
    keyword, end = ("class", "[(:]") if _is_class(function) else ("def", r"\(")
    return re.search(rf"^{keyword}[ \t]+{re.escape(function)}[ \t]*{end}", source, re.MULTILINE) is not None


def _is_class(name: str) -> bool:
    """Check whether the name is that of a class: functions have no capitals."""
    return name[:1].isupper()


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
    heads = (f"class {name}" if _is_class(name) else f"def {name}(...)" for name in (function, *others))
    hint = f"answer with one Python code block that holds the whole program, with {' and '.join(heads)} in it"
    raise NoSource("missing-function", f"{blame} {function}", hint)


def _parses(text: str) -> bool:
    try:
        syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _finished(source: str) -> str:
    return source.strip("\n") + "\n"
