"""Anvil, the policy language: safe by construction, total, and compiled to native code.

policy = check(source, task)        # or Rejected, saying where and why
policy.plan                         # what it needs
policy.native(layout).score         # the address of its machine code
policy.reference()                  # the same under CPython
policy.function("decide")           # one of several functions of a policy
"""

from vulcan.anvil.feature_layout import HistorySlots, Layout, Slot
from vulcan.anvil.policy import Policy, PolicyFunction, check
from vulcan.anvil.rejection import Rejected, Violation

__all__ = ["HistorySlots", "Layout", "Policy", "PolicyFunction", "Rejected", "Slot", "Violation", "check"]
