"""Imports of packages that would load more than Vulcan uses of them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType


def import_without(name: str, hidden: str) -> ModuleType:
    """Import a module as if `hidden`, which it can do without, were not installed.

    Where `hidden` is loaded already, or `name` is, nothing is hidden. Code that imports `hidden` later gets it.
    """
    hides = hidden not in sys.modules and name not in sys.modules
    if hides:
        sys.modules[hidden] = None  # type: ignore[assignment] # Python's way to say that a module cannot be imported
    try:
        return importlib.import_module(name)
    finally:
        if hides:
            del sys.modules[hidden]
