"""Allow-lists of the names that a program may use.

Read by the checker, the child and the prompt's language section. A child loads this module, so it imports little.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import heapq
import math
import random as random_numbers
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

_FUNCTIONS = """
    abs all any bool dict divmod enumerate filter float frozenset int isinstance iter len list map max min next pow
    range reversed round set slice sorted sum tuple zip
"""
_EXCEPTIONS = """
    ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError OverflowError RuntimeError
    StopIteration TypeError ValueError ZeroDivisionError
"""
_MATH = """
    ceil comb copysign cos e erf exp expm1 fabs factorial floor fmod gcd hypot inf isfinite isinf isnan isqrt ldexp log
    log10 log1p log2 nan pi pow sin sqrt tan tanh trunc
"""

FUNCTIONS = tuple(_FUNCTIONS.split())
"""The Python built-ins available; no others are."""

EXCEPTIONS = tuple(_EXCEPTIONS.split())

MODULES: Mapping[str, tuple[str, ...]] = {
    "math": tuple(_MATH.split()),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest"),
    "bisect": ("bisect", "bisect_left", "bisect_right", "insort", "insort_left", "insort_right"),
    "random": ("choice", "getrandbits", "random", "randint", "randrange", "sample", "shuffle", "uniform"),
}
"""The names available of each module that may be imported. `random` is one generator with a fixed seed."""

WITHOUT_IMPORT = ("Counter", "OrderedDict", "defaultdict", "deque")
"""Names of `collections` that, like the modules, need no import."""

NO_MEANING_AT_RUN_TIME = ("__future__", "typing")
"""Modules whose imports are dropped, because they have no effect at run time."""

METHODS = frozenset(
    name
    for kind in (dict, list, set, frozenset, tuple, collections.OrderedDict, collections.deque, collections.Counter)
    for name in dir(kind)
    if not name.startswith("_")
) | {"bit_count", "bit_length", "default_factory", "maxlen"}
"""Methods and attributes of containers and numbers; strings have none."""

SEED = 1


def namespace() -> dict[str, Any]:
    """Create the built-in names of a newly started program."""
    sources: dict[str, Any] = {"math": math, "collections": collections, "heapq": heapq, "bisect": bisect}
    sources["random"] = random_numbers.Random(SEED)
    modules = {
        module: SimpleNamespace(**{name: getattr(sources[module], name) for name in names})
        for module, names in MODULES.items()
    }
    return {
        **{name: getattr(builtins, name) for name in (*FUNCTIONS, *EXCEPTIONS)},
        **modules,
        **{name: getattr(collections, name) for name in WITHOUT_IMPORT},
    }


NAMES = frozenset((*FUNCTIONS, *EXCEPTIONS, *MODULES, *WITHOUT_IMPORT))
"""Every name available to a program without defining it."""
