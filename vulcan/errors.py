"""Errors that a user can fix."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """An error in the user's input: its message says in one line what is wrong, where, and what to do.

    The command line prints it and exits with code 2; no data is lost.
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known name closest to `name`, or an empty string."""
    import difflib  # needed only after an error

    plain = {one.lstrip("-"): one for one in known}  # the dashes of options are not what they have in common
    found = difflib.get_close_matches(name.lstrip("-"), list(plain), n=1, cutoff=0.65)
    return f"; did you mean {plain[found[0]]!r}?" if found else ""
