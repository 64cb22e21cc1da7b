"""Common parts of the headers of both arithmetics: origin comment, feature struct and required C functions."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from vulcan.anvil import Policy
from vulcan.anvil.unparse import printable
from vulcan.errors import UserError
from vulcan.export.c.naming import feature_name
from vulcan.export.provenance import Provenance
from vulcan.export.source import HEADING
from vulcan.task import Argument, Entity, Feature, Global, History, Scalar, Signature

WIDTH = 110


def require_one_function(policy: Policy) -> None:
    """Raise UserError if the task declares several functions: a header in integers holds one."""
    if policy.task.others:
        named = ", ".join(signature.function for signature in (policy.task.signature, *policy.task.others))
        raise UserError(
            f"a policy of the task {policy.task.name!r} has several functions ({named}): a C header in integers "
            "holds one"
        )


def within_comment(text: str) -> str:
    """Return the text for the inside of a C comment, without delimiters and the trigraph of a backslash."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/")


def comment(text: str) -> str:
    """Return a C comment of the text."""
    lines = within_comment(text).split("\n")
    return "\n".join(("/*", *(f" * {line}".rstrip() for line in lines), " */"))


def origin(policy: Policy, provenance: Provenance, needs: str, about: str) -> str:
    """Return the first comment of a file: its description, provenance and the policy's source."""
    intent = policy.program.documentation or f"A policy of the task {provenance.task}."
    return comment(
        "\n".join(
            (
                intent,
                "",
                *provenance.lines(needs),
                "",
                about,
                "",
                HEADING,
                "",
                textwrap.indent(_printable(policy.source).rstrip("\n"), "    "),
            )
        )
    )


def _printable(text: str) -> str:
    """Escape the text for a comment, so that it can be read back."""
    text = re.sub("\r\n?", "\n", text)
    text = re.sub("^[ \t\f]*\f", "", text, flags=re.MULTILINE).replace("\f", " ").expandtabs()  # as Python reads it
    return printable(text)


def described(feature: Feature) -> str:
    """Return the description of a feature for a comment."""
    whole = {"int": "whole, ", "bool": "0 or 1, ", "float": ""}[feature.type]
    return f"{feature.unit}, {whole}{feature.low:g} to {feature.high:g}: {within_comment(feature.meaning)}"


Member = Callable[[str, Feature], str | None]
"""A function from a feature and the name it is read by to its struct member; None if it has none."""


def struct_of_features(signature: Signature, member: Member, query: Callable[[str, str], str | None]) -> str:
    """Return the struct of a policy's inputs; `query` gives the member for a history query."""
    lines = ["/* What the policy is shown. */", "struct policy_features {"]
    empty = True
    for argument in signature.arguments:
        found = list(_members(argument, member, query))
        empty = empty and not found
        lines += found
    if empty:
        lines.append("    char nothing; /* the policy reads no feature */")
    return "\n".join((*lines, "};"))


def _members(argument: Argument, member: Member, query: Callable[[str, str], str | None]) -> Iterator[str]:
    match argument:
        case Scalar(feature):
            if (text := member(feature.name, feature)) is not None:
                yield f"    {text} /* {described(feature)} */"
        case Entity(features=features) | Global(features=features):
            described_members = [(member(f"{argument.name}.{f.name}", f), described(f)) for f in features]
            yield from listed(argument.name, argument.meaning, described_members)
        case History():
            asked = [(query(argument.name, name), meaning) for name, meaning in answers(argument)]
            yield from listed(argument.name, argument.meaning, asked)


def answers(history: History) -> tuple[tuple[str, str], ...]:
    """Return each query that a history answers, with its meaning."""
    return (
        ("contains", "1 where the entity is among those that left most recently, else 0"),
        ("count", f"the {history.count_of} it had when it left, else 0"),
        ("age", f"{history.age_unit} since it left, else 0"),
    )


def listed(name: str, meaning: str, described_members: Sequence[tuple[str | None, str]]) -> Iterator[str]:
    """Yield the lines of a member that is a struct of those members that there are, each with its remark."""
    members = [f"        {text} /* {remark} */" for text, remark in described_members if text is not None]
    if members:
        yield f"    struct {{ /* {meaning.replace('*/', '* /')} */"
        yield from members
        yield f"    }} {feature_name(name)};"


def struct(name: str, remark: str, members: list[str]) -> str:
    """Return a struct of statistics state."""
    kept = members or ["char nothing; /* no statistics are kept here */"]
    return "\n".join((f"/* {remark} */", f"struct {name} {{", *(f"    {member}" for member in kept), "};"))


def function(opening: str, body: list[str]) -> str:
    return "\n".join((opening, "{", *(f"    {line}" for line in body), "}"))


def each(count: int, statement: str) -> Iterator[str]:
    """Yield a loop of the statement over each i below the count."""
    yield f"for (int i = 0; i < {count}; i++) {{"
    yield "    POLICY_BARRIER;"
    yield f"    {statement}"
    yield "}"


_DEFINED = re.compile(r"\b(policy_[a-z0-9_]+)\([^;{]*\)[^;{]*\{")
_CALLED = re.compile(r"\bpolicy_[a-z0-9_]+\b")


@cache
def functions_of(file: str) -> dict[str, str]:
    """Return the text of each function of a file by name, in the order of definition."""
    return blocks_of((Path(__file__).parent / file).read_text(encoding="utf-8"))


def blocks_of(text: str) -> dict[str, str]:
    """Return the text of each function by name, where two empty lines divide them."""
    blocks = [block.strip("\n") for block in text.split("\n\n\n")]
    return {match.group(1): block for block in blocks if (match := _DEFINED.search(block))}


def needed(functions: Mapping[str, str], code: str) -> str:
    """Return the functions that the code calls, directly or indirectly."""
    wanted: set[str] = set()
    pending = [code]
    while pending:
        for name in set(_CALLED.findall(pending.pop())) & functions.keys() - wanted:
            wanted.add(name)
            pending.append(functions[name])
    return "\n\n".join(text for name, text in functions.items() if name in wanted)
