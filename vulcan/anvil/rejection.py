"""Remarks on programs, which are violations or warnings, and the rejection of a program for its violations."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil.grammar.tables import RULES


@dataclass(frozen=True, slots=True)
class Remark:
    """A broken rule of the grammar table, or a warning about an accepted program, by the rule's or warning's name.

    `line` and `column` count from 1, in characters.
    """

    rule: str
    line: int
    column: int
    message: str
    hint: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: [{self.rule}] {self.message}; {self.hint}"


def violation(rule: str, line: int, column: int, message: str, hint: str | None = None) -> Remark:
    return Remark(rule, line, column, message, hint or RULES[rule].hint)


class Rejected(Exception):
    """A program outside the language: a verdict on the program, not a fault of Vulcan."""

    def __init__(self, violations: tuple[Remark, ...]) -> None:
        super().__init__("; ".join(str(v) for v in violations))
        self.violations = violations

    def __reduce__(self) -> tuple[type[Rejected], tuple[tuple[Remark, ...]]]:
        return (Rejected, (self.violations,))
