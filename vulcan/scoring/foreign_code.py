"""The border between Vulcan and code that is not its own."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class ForeignCall:
    """Runs a block of foreign code, and keeps whatever error ends it.

    For a user's evaluator, and the start of Ray, only: there an error of any type is a result to be reported, not a
    state to handle.

    >>> attempt = ForeignCall()
    >>> with attempt:
    ...     1 / 0
    >>> attempt.failure
    'ZeroDivisionError: division by zero'
    """

    error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        # the traceback holds the frames, and the frames hold what filled the memory
        self.error = error.with_traceback(None)
        self.error.__context__ = None
        return True

    @property
    def failure(self) -> str | None:
        """The error's type and message in one line; None where there is none."""
        if self.error is None:
            return None
        return one_line(f"{type(self.error).__name__}: {self.error}")


def one_line(text: str, length: int = 500) -> str:
    """The text without line breaks, cut to `length` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"
