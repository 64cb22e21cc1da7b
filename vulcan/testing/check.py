"""One thing that every task promises, and what became of trying it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from vulcan.task import Json

if TYPE_CHECKING:
    from vulcan.testing.subject import Subject

Result = Literal["passed", "failed", "not tried"]


class Broken(Exception):
    """A promise is not kept: what was seen, and what to do about it."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Check:
    """`run` raises Broken, or returns a note: what it looked at, or why there was nothing to look at.

    `needs` are checks without which this one makes no sense. `promise` completes the sentence "Every task promises
    that ...".
    """

    name: str
    promise: str
    run: Callable[[Subject], str]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a check. `problem` and `remedy` are empty unless it failed."""

    check: str
    promise: str
    result: Result
    note: str = ""
    problem: str = ""
    remedy: str = ""

    def document(self) -> dict[str, Json]:
        """As docs/json.md has it."""
        return asdict(self)
