"""Calls of foreign code, with their errors captured."""

from __future__ import annotations

from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Self

from vulcan.errors import UserError


class ForeignCall:
    """A context manager that runs foreign code and captures any Exception it raises.

    Only for a user's evaluator or logger, and the start of Ray, where an error of any type is a result to be reported,
    not a state to handle.

    >>> attempt = ForeignCall()
    >>> with attempt:
    ...     1 / 0
    >>> attempt.failure
    'ZeroDivisionError: division by zero'
    """

    error: Exception | None = None
    place: str | None = None
    """The file and line that raised the error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        *_, (frame, line) = walk_tb(traceback)
        self.place = f"{Path(frame.f_code.co_filename).name}, line {line}"
        # the traceback references the frames, and through them whatever filled the memory
        self.error = error.with_traceback(None)
        self.error.__context__ = None
        return True

    @property
    def failure(self) -> str | None:
        """The error's type and message on one line; None if there was no error."""
        if self.error is None:
            return None
        return one_line(f"{type(self.error).__name__}: {self.error}")

    def user_error(self, problem: str) -> UserError:
        """Return what to raise: the error where it says of itself what to do, else a line of the problem and why."""
        if isinstance(self.error, UserError):
            return self.error
        return UserError(f"{problem}: {self.failure}")


def one_line(text: str, length: int = 500) -> str:
    """Return the text on one line, truncated to `length` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"
