"""A simulator of memory tiering: which pages belong in the fast tier.

    from vulcan_tiering import simulate

runs a policy of the task `memory_tiering`; `vulcan_tiering.baselines` has the known policies.
"""

from vulcan_tiering.machine import Machine, Tier
from vulcan_tiering.simulate import TieringResult, simulate

__all__ = ["Machine", "Tier", "TieringResult", "simulate"]
