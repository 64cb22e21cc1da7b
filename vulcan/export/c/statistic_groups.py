"""State of a plan's statistics in exported C, in groups of parts that observe together.

The entity has one group. The system has one for observations at every event, and one for each occasion on which some
of its features are observed instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.anvil.plan import Plan
from vulcan.anvil.state_layout import OBSERVATIONS, Base, Part, block_of
from vulcan.export.c.naming import part_names
from vulcan.task import Signature


@dataclass(frozen=True)
class Group:
    """Parts with their lengths, and the occasion on which they observe (None: at every event)."""

    base: Base
    occasion: str | None
    parts: Mapping[Part, int]

    @property
    def prefix(self) -> str:
        """The prefix of its members' names."""
        return f"{self.occasion}__" if self.occasion else ""

    @property
    def owner(self) -> str:
        """The argument of the C functions that holds the group."""
        return "entity" if self.base == "entity" else "state"

    def member(self, part: Part, signature: Signature) -> str:
        """Return the name of a part's member."""
        return self.prefix + part_names(self.parts, signature)[part]

    def of_kind(self, *kinds: str) -> Iterator[Part]:
        return (part for part in self.parts if part.kind in kinds)


def occasions(signature: Signature) -> tuple[str, ...]:
    """Return the occasions on which some statistics of the signature observe, in alphabetical order."""
    return tuple(sorted(set(signature.occasions.values())))


def groups_of(plan: Plan, signature: Signature) -> tuple[Group, ...]:
    """Return the entity's group, if any, then the system's for every event, then those for occasions."""
    groups = []
    if signature.entity is not None:
        groups.append(Group("entity", None, _parts(plan.statistics, "entity", plan, signature)))
    for occasion in (None, *occasions(signature)):
        own = [s for s in plan.statistics if signature.occasions.get(s.feature) == occasion]
        groups.append(Group("system", occasion, _parts(own, "system", plan, signature)))
    return tuple(groups)


def group_of(statistic: ir.Statistic, groups: tuple[Group, ...], signature: Signature) -> Group:
    """Return the group that holds the state of a statistic."""
    occasion = signature.occasions.get(statistic.feature) if statistic.scope == "system" else None
    base = "entity" if statistic.scope == "entity" else "system"
    return next(group for group in groups if (group.base, group.occasion) == (base, occasion))


def _parts(statistics: Iterable[ir.Statistic], base: Base, plan: Plan, signature: Signature) -> dict[Part, int]:
    parts = dict(block_of(statistics, base, plan.shapes(signature)).lengths)
    parts = {part: length for part, length in parts.items() if part.kind != "table"}  # the ring is searched instead
    if parts and any(part.kind not in ("bucket", "population") for part in parts):
        parts = {OBSERVATIONS: 1, **parts}
    return parts
