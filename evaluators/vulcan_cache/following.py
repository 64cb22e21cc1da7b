"""Several policies in one cache: the best of them is followed, or a policy that a safe one guards; simulated."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.anvil.parse import syntax_tree
from vulcan.robustness import FACTORIES, GuardSource, SafePolicy
from vulcan_cache.exported import directories, following_cache, guarded_cache, mapping
from vulcan_cache.simulate import CacheResult, simulate

BYTES = "byte_miss_ratio"
"""The metric by which bytes are compared."""

TOLERANCE, ALLOWANCE, EVIDENCE = 0.01, 1.0, 32.0
"""Defaults of `exported.guarded_cache` and `exported.following_cache`."""

SAFE_POLICIES: Mapping[str, SafePolicy] = {
    name: SafePolicy("cache_eviction", name.replace("-", "_")) for name in ("lru", "fifo", "s3-fifo", "sieve")
}


@dataclass(frozen=True, slots=True)
class FollowedResult:
    """The counts of a run, how often another policy was followed, and the number of the one followed at its end.

    `bound` is the most measured requests that a guarded policy may miss more than the safe one.
    """

    counts: CacheResult
    switches: int
    last: int
    bound: float


def simulate_following(
    policies: Sequence[tuple[Policy, Mapping[str, Any]]],
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    *,
    by_bytes: bool = False,
    measure_from: int = 0,
    object_count: int | None = None,
    evidence: float = EVIDENCE,
    guards: bool = False,
    outcome: NDArray[np.uint32] | None = None,
    tolerance: float = TOLERANCE,
    allowance: float = ALLOWANCE,
) -> FollowedResult:
    """Run a cache that follows these policies, each with what `simulate` needs for it, and first the first of them.

    With `by_bytes` the bytes that they miss are compared, else the requests. With `guards` the second of two is the
    safe one. `outcome`, zeros of shape (requests,), receives 1 for each miss, plus 2 times the policy followed.
    """
    from vulcan_cache.kernels.following import following  # compiles the kernel, or loads it

    count = object_count if object_count is not None else int(objects.max(initial=0)) + 1
    histories = np.zeros((len(policies), len(objects)), np.uint32)
    for history, (policy, how) in zip(histories, policies, strict=True):
        simulate(policy, objects, sizes, capacity, object_count=count, history=history, **how)
    left = [_departures(history) for history in histories]
    misses, missed_bytes, bypassed, switches, last, most_held = following(
        objects, sizes, histories, np.concatenate(left), np.cumsum([0, *map(len, left)], dtype=np.int64), count,
        capacity, measure_from, by_bytes, evidence, guards, tolerance, allowance,
        np.empty(0, np.uint32) if outcome is None else outcome,
    )  # fmt: skip
    measured = sizes[measure_from:]
    counts = CacheResult(len(measured), int(measured.sum(dtype=np.int64)), misses, missed_bytes, bypassed)
    return FollowedResult(counts, switches, last, tolerance * len(measured) + allowance * most_held)


def simulate_guarded(
    policy: Policy,
    safe: str,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    *,
    how: Mapping[str, Any] | None = None,
    **further: Any,
) -> FollowedResult:
    """Run a policy guarded by a safe one, as `simulate_following` does; `how` is what `simulate` needs for it."""
    pair = [(policy, how or {}), (SAFE_POLICIES[safe].compiled(), {})]
    return simulate_following(pair, objects, sizes, capacity, guards=True, **further)


def _departures(history: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the last requests of the objects that leave, in the order in which they leave."""
    from vulcan_cache.kernels.common import OUTCOME_BITS

    when = history >> np.uint32(OUTCOME_BITS)
    last = np.nonzero(when)[0]
    return last[np.argsort(when[last], kind="stable")]


def warm_up(safe: str) -> None:
    """Compile the safe policy and all kernels of a guarded run."""
    simulate_guarded(SAFE_POLICIES[safe].compiled(), safe, np.zeros(2, np.uint32), np.ones(2, np.int64), 1)


def guard_source() -> GuardSource:
    """Return the guard at run time: see `vulcan.evaluator.Evaluator`."""
    header = Path(guarded_cache.__file__ or "").with_name("guard.h").read_text(encoding="utf-8")
    return GuardSource("Cache", _text(_GUARDED, mapping, directories, guarded_cache), header)


def following_source() -> GuardSource:
    """Return what follows at run time: see `vulcan.evaluator.Evaluator`."""
    return GuardSource("Cache", _text(_FOLLOWING, mapping, directories, following_cache))


def _text(cache_class: str, *modules: ModuleType) -> str:
    bodies = [_body(Path(module.__file__ or "").read_text(encoding="utf-8")) for module in modules]
    return "\n\n\n".join([*bodies, cache_class])


def _body(text: str) -> str:
    """Return a module's text without its docstring, its imports and marks of what needs a policy with state."""
    kept = [n for n in syntax_tree(text).body[1:] if not isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(text.splitlines()[kept[0].lineno - 1 :]).replace("  # with state", "")


_GUARDED = f"""class Cache(_GuardedCache):
    __doc__ = _GuardedCache.__doc__

    def __init__(self, capacity, **how):
        super().__init__(capacity, {", ".join(f"{factory}()" for factory in FACTORIES)}, **how)
"""

_FOLLOWING = f"""class Cache(_FollowingCache):
    __doc__ = _FollowingCache.__doc__

    def __init__(self, capacity, **how):
        super().__init__(capacity, [policy() for policy in FOLLOWED], by_bytes=METRIC == "{BYTES}", **how)
"""
