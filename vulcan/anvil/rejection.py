"""The rejection of a program for its violations."""

from __future__ import annotations

from vulcan.anvil.grammar.tables import RULES
from vulcan.documents.policy import Remark


def violation(rule: str, line: int, column: int, message: str, hint: str | None = None) -> Remark:
    return Remark(rule, line, column, message, hint or RULES[rule].hint)


class Rejected(Exception):
    """A program outside the language: a verdict on the program, not a fault of Vulcan."""

    def __init__(self, violations: tuple[Remark, ...]) -> None:
        super().__init__("; ".join(str(v) for v in violations))
        self.violations = violations

    @property
    def summary(self) -> str:
        """The first violation, and how many more there are."""
        first, *others = self.violations
        return f"{first} (and {len(others)} more: see `vulcan check`)" if others else str(first)

    def __reduce__(self) -> tuple[type[Rejected], tuple[tuple[Remark, ...]]]:
        return (Rejected, (self.violations,))
