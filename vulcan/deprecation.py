"""How something public goes: it warns first, everywhere in the same words (docs/versioning.md)."""

from __future__ import annotations

import sys
import warnings


class Deprecated(DeprecationWarning):
    """Something public that goes with a later version: the message says which, and what to use in its place."""


def deprecate(what: str, *, goes_in: str, instead: str, level: int = 1) -> None:
    """Warn that `what` goes in the version `goes_in`, and name what is there in its place.

    `level` is how many callers above the one of this function the warning points at: 1 is whoever called that.
    """
    message = f"{what} is deprecated and goes in {goes_in}: use {instead}"
    warnings.warn(message, Deprecated, stacklevel=level + 2)


def deprecations_in_one_line() -> None:
    """Print each on standard error as one line, as the command line does it; other warnings stay as they are."""
    others = warnings.showwarning

    def show(message, category, filename, lineno, file=None, line=None):  # type: ignore[no-untyped-def]
        if issubclass(category, Deprecated):
            sys.stderr.write(f"vulcan: {message}\n")
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    warnings.simplefilter("once", Deprecated)
