"""How the kernel of a simulator calls a policy: see `PolicyCalls`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vulcan.anvil import Policy
    from vulcan.anvil.feature_layout import Layout


class PolicyCalls(NamedTuple):
    """What a kernel calls a policy with; without a policy all of it is 0.

    `shown` (deciders, slots) has a row of globals for each who decides by the policy, `statistics` what is kept of all
    entities before any is seen, in so many `slots` of each, an array of one where that is nothing.
    """

    addresses: tuple[int, ...]
    shown: NDArray[np.float64]
    statistics: NDArray[np.float64]
    slots: int

    @classmethod
    def of(
        cls, policy: Policy | None, layout: Layout, names: Sequence[str], seeds: Sequence[int] = (0,), entities: int = 0
    ) -> PolicyCalls:
        """Return the calls of functions, as `Native.addresses` takes them, with a decider for each seed."""
        if policy is None:
            return cls((0,) * len(names), np.zeros((len(seeds), layout.global_slots)), np.zeros(1), 0)
        native = policy.native(layout)
        slots = native.entity_slots
        shown = np.stack([native.new_globals(seed) for seed in seeds])
        statistics = native.new_statistics(entities) if slots else np.zeros(1)
        return cls(native.addresses(*names), shown, statistics, slots)
