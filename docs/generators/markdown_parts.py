"""Small pieces of Markdown that the generated pages share."""

from __future__ import annotations

import inspect
import re


def paragraphs(docstring: str | None) -> str:
    """A docstring as Markdown: indented examples become blocks, and what a terminal must not wrap keeps its lines."""
    parts = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        lines = part.splitlines()
        if lines and lines[0] == "\b":
            label, *shown = lines[1:]
            parts.append(label.strip() + "\n\n" + block(inspect.cleandoc("\n".join(shown))))
        elif lines and all(line.startswith("    ") for line in lines):
            parts.append(block(inspect.cleandoc(part)))
        else:
            parts.append(part)
    return "\n\n".join(part for part in parts if part)


def block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"


def written_by(generator: str) -> str:
    """The remark at the head of a generated page."""
    return f"<!-- Written by `make docs` from the code (docs/generators/{generator}); do not edit. -->"
