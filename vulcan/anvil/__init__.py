"""Anvil, the policy language: safe by construction, total, and compiled to native code.

policy = check(source, task)        # or Rejected, with each violation's location and reason
policy.plan                         # features, statistics and queries it uses
policy.native(layout).score         # address of its machine code
policy.reference()                  # reference interpreter under CPython

`hash` and `random` are for policies with state that run in CPython as they stand.
"""

from vulcan.anvil.feature_layout import HistorySlots, Layout, Slot
from vulcan.anvil.interpreter import Reference
from vulcan.anvil.policy import Policy, check
from vulcan.anvil.rejection import Rejected
from vulcan.anvil.semantics import hash, random
from vulcan.documents.policy import Remark

__all__ = [
    "HistorySlots",
    "Layout",
    "Policy",
    "Reference",
    "Rejected",
    "Remark",
    "Slot",
    "check",
    "hash",
    "random",
]
