"""Where a cache keeps its objects, by the mechanism that uses a policy's priorities.

The mechanism sets `place`, `priority` and `touch` of an object.
"""

import heapq
import math


class _Sample:  # with sample
    """Objects drawn at random are scored when space is needed; the first drawn of the lowest leaves."""

    def __init__(self, policy, size, seed):
        self._policy = policy
        self._size = size
        self._residents = []
        z = (seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF  # splitmix64 of the seed
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        self._random = (z ^ (z >> 31)) or 0x9E3779B97F4A7C15

    def add(self, obj):
        obj.place = len(self._residents)
        self._residents.append(obj)

    def touch(self, obj):
        """Nothing is kept of a touch."""

    def remove(self, obj):
        last = self._residents.pop()
        if last is not obj:
            self._residents[obj.place] = last
            last.place = obj.place

    def lowest(self):
        residents = self._residents
        drawn = residents if len(residents) <= self._size else [self._draw() for _ in range(self._size)]
        chosen, least = drawn[0], math.inf
        for obj in drawn:
            obj.priority = self._policy.priority(obj)
            if obj.priority < least:
                chosen, least = obj, obj.priority
        return chosen

    def _draw(self):
        x = self._random  # xorshift64
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        self._random = x
        return self._residents[((x >> 32) * len(self._residents)) >> 32]


class _Ordered:  # with heap
    """Objects by `priority`, of equals by `touch`, of which each may change or go at any time; sets their `place`.

    An object's `place` is its entry in the heap. Others of it are stale, and leave when they come to the top or when
    there are as many as objects.
    """

    def __init__(self):
        self._heap = []
        self._objects = 0

    def __len__(self):
        return self._objects

    def first(self):
        heap = self._heap
        while (entry := heap[0])[2].place is not entry:
            heapq.heappop(heap)
        return entry[2]

    def add(self, obj):
        self._objects += 1
        self.settle(obj)

    def remove(self, obj):
        self._objects -= 1
        obj.place = None

    def settle(self, obj):
        """Move an object to where it belongs."""
        heap = self._heap
        obj.place = entry = (obj.priority, obj.touch, obj)
        heapq.heappush(heap, entry)
        if len(heap) > 2 * self._objects + 64:
            heap[:] = [kept for kept in heap if kept[2].place is kept]
            heapq.heapify(heap)


class _Timer:  # with recheck
    """When an object is looked at again: at `priority`, of equals the one that was asked for first."""

    def __init__(self, obj, due, asked):
        self.obj, self.priority, self.touch = obj, due, asked


class _Heap:  # with heap
    """Objects are scored when touched; the lowest leaves, the longest untouched of equals."""

    def __init__(self, policy):
        self._policy = policy
        self._objects = _Ordered()
        self._touches = 0
        self._timers = _Ordered()  # with recheck
        self._timer_of = {}  # with recheck
        self._asked = 0  # with recheck

    def add(self, obj):
        self._touches += 1
        obj.touch = self._touches
        obj.priority = self._policy.priority(obj)
        self._objects.add(obj)
        self._wait(obj)  # with recheck

    def touch(self, obj):
        self._touches += 1
        obj.touch = self._touches
        obj.priority = self._policy.priority(obj)
        self._objects.settle(obj)
        self._wait(obj)  # with recheck

    def _score(self, obj):  # with recheck
        obj.priority = self._policy.priority(obj)
        self._objects.settle(obj)
        self._wait(obj)

    def remove(self, obj):
        self._objects.remove(obj)
        self._no_longer(obj)  # with recheck

    def lowest(self):
        return self._objects.first()

    def look_again(self, now):  # with recheck
        for _ in range(_RECHECKS):
            if not len(self._timers) or self._timers.first().priority > now:
                break
            self._score(self._timers.first().obj)

    def _wait(self, obj):  # with recheck
        self._no_longer(obj)
        self._asked += 1
        wait = self._policy.recheck(obj)
        if wait >= 1.0:
            due = self._policy.now + math.floor(min(wait, _LATEST))
            timer = self._timer_of[obj.key] = _Timer(obj, due, self._asked)
            self._timers.add(timer)

    def _no_longer(self, obj):  # with recheck
        timer = self._timer_of.pop(obj.key, None)
        if timer is not None:
            self._timers.remove(timer)


_RECHECKS = 4  # with recheck
_LATEST = 2.0**40  # with recheck
