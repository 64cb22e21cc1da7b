"""Examples of the language: short fragments, and the frames that make whole programs of them.

They are about the task of `docs/generators/anvil_page.py`, whose function is `score(now, obj, pool, past)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HEAD = "def score(now, obj, pool, past):\n"

Frame = Literal["expression", "statements", "top", "module"]
"""Kind of a fragment: a value to return, the body of the function, code above the function, or a whole module."""


@dataclass(frozen=True, slots=True)
class Example:
    """A fragment that is accepted; `gives` is its result after the events of the example task.

    `shown` replaces the text where that is too long to print.
    """

    text: str
    gives: float | None = None
    frame: Frame = "expression"
    shown: str = ""

    @property
    def source(self) -> str:
        """The whole program."""
        return framed(self.text, self.frame)


@dataclass(frozen=True, slots=True)
class RejectedExample:
    """A fragment that is rejected, and the name of the rule that rejects it."""

    text: str
    rule: str
    frame: Frame = "expression"
    shown: str = ""

    @property
    def source(self) -> str:
        """The whole program."""
        return framed(self.text, self.frame)


def framed(text: str, frame: Frame) -> str:
    """Return the fragment as a whole program."""
    match frame:
        case "expression":
            return f"{HEAD}    return {text}\n"
        case "statements":
            return HEAD + "".join(f"    {line}\n" for line in text.split("\n"))
        case "top":
            return f"{text}\n{HEAD}    return obj.count\n"
        case "module":
            return text


def body(text: str, gives: float | None = None, shown: str = "") -> Example:
    """Make an accepted example of a function body."""
    return Example(text, gives, "statements", shown)


def module(text: str, gives: float | None = None, shown: str = "") -> Example:
    """Make an accepted example of a module."""
    return Example(text, gives, "module", shown)


def top(text: str, gives: float | None = None) -> Example:
    """Make an accepted example of code above the function."""
    return Example(text, gives, "top")


def stateful(result: str, gives: float, declared: str, handler: str = "") -> Example:
    """Make an accepted example of a module that declares state in `class policy:` and may handle the event `touch`."""
    handled = f"def on_touch(now, obj, pool, past):\n    {handler}\n" if handler else ""
    return module(f"class policy:\n    {declared}\n{handled}{HEAD}    return {result}\n", gives)


def no(text: str, rule: str, frame: Frame = "expression", shown: str = "") -> RejectedExample:
    """Make an example, by default of an expression, that the rule rejects."""
    return RejectedExample(text, rule, frame, shown)
