"""Errors that a user can mend."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """A mistake in what the user gave: the message says what, where and what to do, in one line.

    The command line prints it and exits with code 2; nothing is lost by it.
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known name most like `name`, or an empty string."""
    import difflib  # only a mistake needs it

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""
