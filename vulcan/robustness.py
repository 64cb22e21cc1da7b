"""Policies shipped with tasks, those of them that guard others at run time, and the source of guards in exports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from vulcan.anvil import Policy, check
from vulcan.registry import find_task


@cache
def shipped(task: str, policy: str) -> Policy:
    """Return a policy that a task starts searches with, checked: a guard, or a simulator's baseline."""
    found = find_task(task)
    return check(found.seed_policies()[policy], found)


@dataclass(frozen=True, slots=True)
class SafePolicy:
    """A policy to guard others by: one that a task starts searches with."""

    task: str
    policy: str

    def compiled(self) -> Policy:
        """Return the policy, checked."""
        return shipped(self.task, self.policy)


@dataclass(frozen=True, slots=True)
class GuardSource:
    """The source of a guard at run time, which imports the standard library alone.

    It defines the class `used_by`, the one that exports of the policies have too (see `vulcan.export.template`), and
    gets those classes by calling the functions named in `FACTORIES`, which the export defines.

    `header` is the guard in C99, empty if there is none: a header whose names begin with `guard_` and `GUARD_`.
    """

    used_by: str
    text: str
    header: str = ""


FACTORIES = ("_guarded_policy", "_safe_policy")
