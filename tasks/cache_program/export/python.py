"""The part of an exported policy of `cache_program` that uses it: a cache that counts bytes."""

from __future__ import annotations

from collections import deque, namedtuple


class Policy:
    """Stands for the policy: the first that came in is the first to leave."""

    def __init__(self, capacity: int) -> None:
        self.stored: deque[int] = deque()

    def on_miss(self, request: Request) -> None:
        self.stored.append(request.id)

    def evict(self, request: Request) -> int:
        return self.stored.popleft()


# --- exported modules have the policy above this line ---

Request = namedtuple("Request", ("id", "size", "time"))


class Cache:
    """What is in a cache of `capacity` bytes: the policy decides what leaves it.

    >>> cache = Cache(1000)
    >>> cache.request("a", 10)
    False
    >>> cache.request("a", 10)
    True
    """

    def __init__(self, capacity):
        self.capacity = capacity
        self.used = 0
        self.sizes = {}
        self.time = 0
        self.policy = Policy(capacity)
        self._on_hit = getattr(self.policy, "on_hit", None)
        self._on_miss = getattr(self.policy, "on_miss", None)
        self._admit = getattr(self.policy, "admit", None)

    def __contains__(self, key):
        return key in self.sizes

    def request(self, key, size=1):
        """Whether it is a hit to ask for an object of so many bytes, which takes at least one.

        On a miss it is put into the cache, after others have left, where it fits and the policy admits it.
        """
        size = max(size, 1)
        request = Request(key, size, self.time)
        self.time += 1
        if key in self.sizes:
            if self._on_hit is not None:
                self._on_hit(request)
            return True
        if size > self.capacity or (self._admit is not None and not self._admit(request)):
            return False
        while self.used + size > self.capacity:
            self.used -= self.sizes.pop(self.policy.evict(request))
        self.sizes[key] = size
        self.used += size
        if self._on_miss is not None:
            self._on_miss(request)
        return False
