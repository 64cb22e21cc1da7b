"""What every slow reference of a policy is built on, and the loop that runs one over a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass

from split_mix import split_mix

GONE = math.inf


@dataclass(frozen=True)
class Request:
    obj: int
    size: int
    now: int
    upcoming: float


class Policy:
    """Residents with their sizes; a policy says what happens on a hit, on a miss that fits, and on eviction."""

    def __init__(self, capacity: int) -> None:
        self.capacity = self.largest = capacity
        self.resident: dict[int, int] = {}
        self.draws = 0
        self.start()

    def start(self) -> None: ...
    def seen(self, request: Request) -> None:
        """Called for every request, before anything else."""

    def missed(self, request: Request) -> None:
        """Called for every miss, one too large for the cache included."""

    def hit(self, request: Request) -> None: ...
    def admit(self, request: Request) -> None:
        self.make_room(request)
        self.resident[request.obj] = request.size
        self.insert(request)

    def make_room(self, request: Request) -> None:
        while sum(self.resident.values()) + request.size > self.capacity:
            victim = self.victim(request)
            del self.resident[victim]

    def victim(self, request: Request) -> int:
        """The object that is evicted next; a policy without it makes room in its own way."""
        raise AssertionError(type(self).__name__)

    def insert(self, request: Request) -> None: ...

    def random_below(self, bound: int) -> int:
        self.draws += 1
        return (split_mix(0, self.draws) >> 32) * bound >> 32

    def random_share(self) -> float:
        self.draws += 1
        return (split_mix(0, self.draws) >> 11) / 2**53


def refusing(policy_type: type[Policy], share: int) -> type[Policy]:
    """The policy that admits nothing larger than one in so many of the capacity's bytes, and at least one byte."""

    class Refusing(policy_type):  # type: ignore[misc, valid-type]
        def start(self) -> None:
            super().start()
            self.largest = max(1, self.capacity // share)

    return Refusing


def simulate_slowly(policy_type, objects, sizes, next_access, capacity, measure_from):
    """(misses, missed bytes, bypassed), the resident bytes being checked after every request."""
    policy = policy_type(capacity)
    misses = missed_bytes = bypassed = 0
    for now, (obj, size, upcoming) in enumerate(
        zip(objects.tolist(), sizes.tolist(), next_access.tolist(), strict=True)
    ):
        again = 0 <= upcoming < len(objects)
        request = Request(obj, size, now, upcoming if again else GONE)
        policy.seen(request)
        if obj in policy.resident:
            policy.hit(request)
        else:
            policy.missed(request)
            if now >= measure_from:
                misses += 1
                missed_bytes += size
            if size > policy.largest:
                bypassed += now >= measure_from
            else:
                policy.admit(request)
        assert sum(policy.resident.values()) <= capacity
    return misses, missed_bytes, bypassed
