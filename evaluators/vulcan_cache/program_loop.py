"""The cache as the process of a program keeps it for itself, where requests come in blocks.

This module's text is sent to that process and runs there, so it imports only what is there already. Nothing of what it
says is believed: its decisions are replayed by `vulcan_cache.kernels.replay`, which counts.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ROW = struct.Struct("<3q")
"""A request in a message: the object, its size, and the number of the request."""


class Loop:
    """Calls the hooks request by request, and notes each decision."""

    def __init__(
        self,
        hooks: Mapping[str, Callable[[Any], Any]],
        records: Mapping[str, Callable[[tuple[int, ...]], Any]],
        given: Sequence[int],
    ) -> None:
        """`hooks` are methods by name, `records` makes of a row what each is called with, `given` is the capacity."""
        self.on_hit = hooks.get("on_hit")
        self.on_miss = hooks.get("on_miss")
        self.evict = hooks["evict"]
        self.admit = hooks.get("admit")
        self.request = records["evict"]
        self.capacity = given[0]
        self.resident: dict[int, int] = {}
        self.used = 0

    def decisions(self, block: bytes, whole: Callable[[object], int]) -> list[int]:
        """Return the decisions on a block of requests, in order: whether to admit (0 or 1), and the objects evicted.

        After one that cannot be carried out none follows. `whole` raises for what is no whole number.
        """
        made: list[int] = []
        resident, capacity, used = self.resident, self.capacity, self.used
        on_hit, on_miss, evict, admit, request_of = self.on_hit, self.on_miss, self.evict, self.admit, self.request
        for row in ROW.iter_unpack(block):
            obj, size, _ = row
            if obj in resident:
                if on_hit is not None:
                    on_hit(request_of(row))
                continue
            if size > capacity:
                continue
            request = request_of(row)
            if admit is not None:
                admitted = 1 if admit(request) else 0
                made.append(admitted)
                if not admitted:
                    continue
            while used + size > capacity:
                leaving = whole(evict(request))
                made.append(leaving)
                if leaving not in resident:
                    return made
                used -= resident.pop(leaving)
            resident[obj] = size
            used += size
            if on_miss is not None:
                on_miss(request)
        self.used = used
        return made
