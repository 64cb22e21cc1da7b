"""Guards at run time: the policies that guard others, and the source of guards that exports contain."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import Policy, check
from vulcan.registry import find_task


@dataclass(frozen=True, slots=True)
class SafePolicy:
    """A policy to guard others by: one that a task starts searches with."""

    task: str
    policy: str

    def compiled(self) -> Policy:
        """Return the policy, checked."""
        task = find_task(self.task)
        return check(task.seed_policies()[self.policy], task)


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
