"""Guarded policies: the safe policies there are, and the simulation of a policy under one of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.anvil.parse import syntax_tree
from vulcan.robustness import FACTORIES, GuardSource, SafePolicy
from vulcan_cache.exported import directories, guarded_cache, mapping
from vulcan_cache.simulate import CacheResult, simulate

TOLERANCE, ALLOWANCE, EVIDENCE = 0.01, 1.0, 32.0
"""Defaults of `exported.guarded_cache`."""

SAFE_POLICIES: Mapping[str, SafePolicy] = {
    name: SafePolicy("cache_eviction", name.replace("-", "_")) for name in ("lru", "fifo", "s3-fifo", "sieve")
}


@dataclass(frozen=True, slots=True)
class GuardedResult:
    """The counts of a guarded run, and how often another policy was followed.

    `bound` is the most measured requests that it may miss more than the safe policy.
    """

    counts: CacheResult
    switches: int
    bound: float


@cache
def compiled(name: str) -> Policy:
    """Return a safe policy, compiled."""
    return SAFE_POLICIES[name].compiled()


def simulate_guarded(
    policy: Policy,
    safe: str,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    *,
    measure_from: int = 0,
    object_count: int | None = None,
    outcome: NDArray[np.uint32] | None = None,
    tolerance: float = TOLERANCE,
    allowance: float = ALLOWANCE,
    **how: Any,
) -> GuardedResult:
    """Run a policy guarded by a safe one, as `simulate` does.

    `outcome`, zeros of shape (requests,), receives 1 for each miss, plus 2 where the safe policy is followed. `how` are
    the further arguments of `simulate` for the policy.
    """
    from vulcan_cache.kernels.guarded import guarded  # compiles the kernel, or loads it

    count = object_count if object_count is not None else int(objects.max(initial=0)) + 1
    histories = np.zeros((2, len(objects)), np.uint32)
    simulate(policy, objects, sizes, capacity, object_count=count, history=histories[0], **how)
    simulate(compiled(safe), objects, sizes, capacity, object_count=count, history=histories[1])
    misses, missed_bytes, bypassed, switches, held = guarded(
        objects,
        sizes,
        histories[0],
        departures(histories[0]),
        histories[1],
        departures(histories[1]),
        count,
        capacity,
        measure_from,
        tolerance,
        allowance,
        EVIDENCE,
        np.empty(0, np.uint32) if outcome is None else outcome,
    )
    measured = sizes[measure_from:]
    total = int(measured.sum(dtype=np.int64))
    bound = tolerance * len(measured) + allowance * held
    return GuardedResult(CacheResult(len(measured), total, misses, missed_bytes, bypassed), switches, bound)


def departures(history: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the last requests of the objects that leave, in the order in which they leave."""
    from vulcan_cache.kernels.common import OUTCOME_BITS

    when = history >> np.uint32(OUTCOME_BITS)
    last = np.nonzero(when)[0]
    return last[np.argsort(when[last], kind="stable")]


def warm_up(safe: str) -> None:
    """Compile the safe policy and all kernels of a guarded run."""
    requests = np.zeros(2, np.uint32)
    simulate_guarded(compiled(safe), safe, requests, np.ones(2, np.int64), 1)


def source() -> GuardSource:
    """Return the guard at run time: see `vulcan.evaluator.Evaluator`."""
    header = Path(guarded_cache.__file__ or "").with_name("guard.h").read_text(encoding="utf-8")
    return GuardSource("Cache", "\n\n\n".join([*bodies(mapping, directories, guarded_cache), _CACHE]), header)


def bodies(*modules: ModuleType) -> list[str]:
    """Return the texts of modules for an export (`_body`)."""
    return [_body(Path(module.__file__ or "").read_text(encoding="utf-8")) for module in modules]


def _body(text: str) -> str:
    """Return a module's text without its docstring, its imports and marks of what needs a policy with state."""
    kept = [n for n in syntax_tree(text).body[1:] if not isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(text.splitlines()[kept[0].lineno - 1 :]).replace("  # with state", "")


_CACHE = f"""class Cache(_GuardedCache):
    __doc__ = _GuardedCache.__doc__

    def __init__(self, capacity, **how):
        super().__init__(capacity, {", ".join(f"{factory}()" for factory in FACTORIES)}, **how)
"""
