"""Limits on a program's size, depth and work."""

from __future__ import annotations

from dataclasses import fields

from vulcan.task import StateLimits, Task

MAX_SOURCE_BYTES = 16 * 1024
MAX_TREE_NODES = 1_000
MAX_TREE_DEPTH = 100
MAX_LOOP_DEPTH = 3
MAX_CALL_DEPTH = 150
"""Nesting levels of statements, expressions and helper calls, helpers counted at each call."""
MAX_OPERATIONS = next(int(field.default) for field in fields(Task) if field.name == "operations")  # type: ignore[arg-type]
"""Operations per call, unless the task sets another limit."""
MAX_KEPT_OF_ENTITY = 64
MAX_KEPT_OF_SYSTEM = 4096
"""Observations that one statistic may look back on, of an entity and of the whole system."""
MAX_REGISTERS, MAX_ELEMENTS, MAX_FIELDS = (getattr(StateLimits(), field.name) for field in fields(StateLimits))
"""State of a policy, unless the task sets lower limits; elements are those of all arrays together."""
