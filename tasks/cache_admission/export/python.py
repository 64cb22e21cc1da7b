"""How a policy of cache admission and eviction is used at run time: the class `Cache`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (first in, first out; all are let in) the file works as it is.
"""

import math

MECHANISM = "sample"
SAMPLE_SIZE = 16
SAMPLE_SEED = 1
_USES = frozenset({"obj.insertion"})


def priority(now: float, obj: "_Object", cache: "_State", ghost: "_Ghost") -> float:
    return obj.insertion


def admit(now: float, obj: "_Object", cache: "_State", victim: "_Victim", ghost: "_Ghost") -> float:
    return 1.0


class _Entity:
    __slots__ = ()


class _Statistics:
    def enter(self, now: float, obj: "_Object", victim: "_Victim") -> None:
        """The entity, a new object, has entered."""

    def update(self, now: float, obj: "_Object", victim: "_Victim") -> None:
        """The entity was touched."""

    def leave(self, obj: "_Object") -> None:
        """The entity leaves."""


# --- exported modules have the policy above this line ---


class _Object(_Entity):
    """What the policy sees of an object in the cache, or one that may be let in: the argument `obj`."""

    __slots__ = ("count", "id", "insertion", "key", "last_access", "place", "priority", "size", "touch")

    def __init__(self, key: object, identity, size: float, now: float) -> None:
        super().__init__()
        self.key = key
        self.id = identity  # a number where the policy computes with it, else the key
        self.size = size
        self.count = 1.0
        self.last_access = now
        self.insertion = now
        self.place = -1  # where the mechanism keeps it
        self.priority = 0.0
        self.touch = 0


class _State(_Statistics):
    """What the policy sees of the whole cache: the argument `cache`."""

    def __init__(self, capacity: float) -> None:
        super().__init__()
        self.used = 0.0
        self.capacity = capacity
        self.objects = 0.0
        self.evicted_priority = 0.0


class _Victim:
    """What the policy sees of the object that would leave first: the argument `victim`."""

    __slots__ = ("count", "insertion", "last_access", "priority", "size")

    def __init__(self) -> None:
        self.show(None)

    def show(self, obj: "_Object | None") -> None:
        """All is 0 where no object would have to leave."""
        self.size = obj.size if obj else 0.0
        self.count = obj.count if obj else 0.0
        self.last_access = obj.last_access if obj else 0.0
        self.insertion = obj.insertion if obj else 0.0
        self.priority = obj.priority if obj else 0.0


class _Ghost:
    """The objects evicted or not let in most recently, as many as the cache held: the argument `ghost`.

    An object that comes back stays listed until later ones push it out.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._left: dict[object, tuple[float, float, float]] = {}  # evictions before, count, time; oldest first
        self._evictions = 0.0
        self._oldest = 1.0

    def contains(self, identity: object) -> float:
        return 1.0 if identity in self._left else 0.0

    def count(self, identity: object) -> float:
        left = self._left.get(identity)
        return 0.0 if left is None else left[1]

    def age(self, identity: object) -> float:
        left = self._left.get(identity)
        return 0.0 if left is None else self.now - left[2]

    def remember(self, obj: _Object, held: float) -> None:
        """The object is being evicted from a cache of so many objects."""
        self._left.pop(obj.id, None)
        self._add(obj.id, obj.count, held)

    def turn_away(self, obj: _Object, held: float) -> None:
        """The object was not let into a cache that has room for so many."""
        self._add(obj.id, self._left.pop(obj.id, (0.0, 0.0, 0.0))[1] + 1.0, held)

    def _add(self, identity: object, count: float, held: float) -> None:
        self._evictions += 1.0
        self._left[identity] = (self._evictions, count, self.now)
        self._oldest = max(self._oldest, self._evictions + 1.0 - held)
        while self._left:
            first = next(iter(self._left))
            if self._left[first][0] >= self._oldest:
                break
            del self._left[first]


class _Policy:
    """The policy's answers about an object at this moment."""

    def __init__(self, capacity: float) -> None:
        self.now = 0.0
        self.state = _State(capacity)
        self.ghost = _Ghost()
        self.victim = _Victim()

    def admits(self, obj: _Object, victim: "_Object | None") -> bool:
        self.victim.show(victim)
        return admit(self.now, obj, self.state, self.victim, self.ghost) > 0.0

    def priority(self, obj: _Object) -> float:
        return min(max(priority(self.now, obj, self.state, self.ghost), -1e300), 1e300)


class _Sample:
    """Objects drawn at random are scored when space is needed; the first drawn of the lowest leaves."""

    def __init__(self, policy: _Policy, size: int, seed: int) -> None:
        self._policy = policy
        self._size = size
        self._residents: list[_Object] = []
        z = (seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF  # splitmix64 of the seed
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        self._random = (z ^ (z >> 31)) or 0x9E3779B97F4A7C15

    def add(self, obj: _Object) -> None:
        obj.place = len(self._residents)
        self._residents.append(obj)

    def touch(self, obj: _Object) -> None:
        """Nothing is kept of a touch."""

    def remove(self, obj: _Object) -> None:
        last = self._residents.pop()
        if last is not obj:
            self._residents[obj.place] = last
            last.place = obj.place

    def lowest(self) -> _Object:
        residents = self._residents
        drawn = residents if len(residents) <= self._size else [self._draw() for _ in range(self._size)]
        chosen, least = drawn[0], math.inf
        for obj in drawn:
            obj.priority = self._policy.priority(obj)
            if obj.priority < least:
                chosen, least = obj, obj.priority
        return chosen

    def _draw(self) -> _Object:
        x = self._random  # xorshift64
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        self._random = x
        return self._residents[((x >> 32) * len(self._residents)) >> 32]


class _Heap:
    """Objects are scored when touched; the lowest leaves, the longest untouched of equals."""

    def __init__(self, policy: _Policy) -> None:
        self._policy = policy
        self._heap: list[_Object] = []
        self._touches = 0

    def add(self, obj: _Object) -> None:
        obj.place = len(self._heap)
        self._heap.append(obj)
        self.touch(obj)

    def touch(self, obj: _Object) -> None:
        self._touches += 1
        obj.touch = self._touches
        obj.priority = self._policy.priority(obj)
        self._settle(obj)

    def remove(self, obj: _Object) -> None:
        last = self._heap.pop()
        if last is not obj:
            last.place = obj.place
            self._heap[last.place] = last
            self._settle(last)

    def lowest(self) -> _Object:
        return self._heap[0]

    def _settle(self, obj: _Object) -> None:
        """Move an object up or down to where it belongs."""
        heap, place = self._heap, obj.place
        while place > 0 and _before(obj, above := heap[(place - 1) >> 1]):
            heap[place], above.place, place = above, place, above.place
        while (child := 2 * place + 1) < len(heap):
            below = heap[child]
            if child + 1 < len(heap) and _before(heap[child + 1], below):
                below = heap[child + 1]
            if not _before(below, obj):
                break
            heap[place], below.place, place = below, place, below.place
        heap[place] = obj
        obj.place = place


def _before(a: _Object, b: _Object) -> bool:
    return a.priority < b.priority or (a.priority == b.priority and a.touch < b.touch)


_ASKS_GHOST = any(use.startswith("ghost.") for use in _USES)
_ABSENT = object()
_LARGEST_OBJECT = 2**32
_MOST_OPEN_MISSES = 1024


class Cache:
    """A cache of limited size; what is let in and what is evicted is the policy's decision. Used like a dictionary.

    `capacity` is in bytes, or whatever unit sizes are in. `mechanism` says how the policy's priorities are used:
    `sample` (`sample_size` objects drawn at random are scored at an eviction, the lowest leaves; the same
    `sample_seed` gives the same draws) or `heap` (an object is scored when it is requested, the lowest leaves). By
    default it is what the policy was searched with: a policy may be good under one and bad under the other.
    `getsizeof(value)` gives the size of a value that is stored without one; without it, that size is 1. A size of 0
    counts as 1. What is larger than the cache, or what the policy does not admit, is not stored (it is bypassed), which
    is not an error.

    Time is counted in requests, as in the simulator. These are requests:

    * a look-up, `cache[key]` or `cache.get(key)`, whether it hits or misses;
    * storing a value, `cache[key] = value` or `cache.put(key, value)`; but storing under a key whose look-up missed
      before completes that look-up, and both are one request. (The last 1,024 missed keys are remembered for it.)
    * `cache.request(key, size)`, which is both at once: what a simulator does.

    So a read-through cache (get; on a miss fetch the value and put it) evicts exactly what the simulator evicts on
    the same sequence of keys, and so does a loop over `request`. Nothing else is a request: `in`, `len`, iteration,
    `keys`, `values`, `items`, `pop` and `del` tell the policy nothing of use. An object keeps the size it was stored
    with until it is stored anew.

    Memory is bounded by what the cache holds, except that a policy that computes with `obj.id` needs to number keys
    in order of their first appearance, and so to remember every key there ever was.

    It has what a `MutableMapping` has (`collections.abc.MutableMapping.register(Cache)` makes that known). It is not
    safe to use from several threads without a lock of one's own.
    """

    def __init__(
        self,
        capacity,
        *,
        mechanism=MECHANISM,
        sample_size=SAMPLE_SIZE,
        sample_seed=SAMPLE_SEED,
        getsizeof=None,
    ):
        if not 1 <= capacity <= 2**53:
            raise ValueError(f"capacity must be from 1 to 2**53, not {capacity!r}")
        if sample_size < 1:
            raise ValueError(f"sample_size must be 1 or more, not {sample_size!r}")
        if mechanism not in ("sample", "heap"):
            raise ValueError(f"mechanism must be 'sample' or 'heap', not {mechanism!r}")
        self.hits = 0
        """Requests that found their key."""
        self.misses = 0
        """Requests that did not."""
        self.bypassed = 0
        """Times that something was not stored: it is larger than the cache, or the policy did not admit it."""
        self._capacity = capacity
        self._getsizeof = getsizeof
        self._policy = _Policy(float(capacity))
        self._state = self._policy.state
        self._mechanism = (
            _Heap(self._policy) if mechanism == "heap" else _Sample(self._policy, sample_size, sample_seed)
        )
        self._objects = {}
        self._values = {}
        self._open = {}
        self._numbers = {}

    @property
    def maxsize(self):
        """The capacity."""
        return self._capacity

    @property
    def currsize(self):
        """The size of all that is stored."""
        return int(self._state.used)

    def getsizeof(self, value):
        """The size of a value that is stored without one."""
        return 1 if self._getsizeof is None else self._getsizeof(value)

    # Requests

    def request(self, key, size=1):
        """One request: True for a hit; on a miss the key is stored, without a value, and the answer is False."""
        obj = self._look_up(key)
        if obj is not None:
            return True
        self._open.pop(key, None)
        self._store(key, None, _checked(size))
        return False

    def __getitem__(self, key):
        """The value of the key. Raises KeyError where it is not stored."""
        if self._look_up(key) is None:
            raise KeyError(key)
        return self._values[key]

    def get(self, key, default=None):
        """The value of the key, or the default where it is not stored."""
        return default if self._look_up(key) is None else self._values[key]

    def put(self, key, value, size=None):
        """Store the value; its size is `getsizeof(value)` where none is given. Raises ValueError for a bad size."""
        size = _checked(self.getsizeof(value) if size is None else size)
        obj = self._look_up(key, size) if key not in self._open else None
        self._open.pop(key, None)
        if obj is None:
            self._store(key, value, size)
        else:
            self._replace(obj, value, size)

    def __setitem__(self, key, value):
        """Store the value; its size is `getsizeof(value)`."""
        self.put(key, value)

    def setdefault(self, key, default=None):
        """The value of the key; where it is not stored, the default, which is stored then."""
        obj = self._look_up(key)
        if obj is not None:
            return self._values[key]
        self.put(key, default)
        return default

    def update(self, *others, **more):
        """Store each of the pairs, as `dict.update` does."""
        for key, value in dict(*others, **more).items():
            self.put(key, value)

    # Removal

    def evict(self):
        """Evict what the policy chooses, and give its key. Raises KeyError where nothing is stored."""
        return self.popitem()[0]

    def popitem(self):
        """Evict what the policy chooses, and give its key and value. Raises KeyError where nothing is stored."""
        if not self._objects:
            raise KeyError("the cache is empty")
        return self._evict()

    def pop(self, key, default=_ABSENT):
        """Remove the key and give its value, or the default. Raises KeyError where there is neither."""
        obj = self._objects.get(key)
        if obj is None:
            if default is _ABSENT:
                raise KeyError(key)
            return default
        return self._remove(obj)

    def __delitem__(self, key):
        """Remove the key. Raises KeyError where it is not stored."""
        self.pop(key)

    def clear(self):
        """Remove everything; the counters and the ghost list stay."""
        for obj in list(self._objects.values()):
            self._remove(obj)

    # What tells the policy nothing

    def __contains__(self, key):
        return key in self._values

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __reversed__(self):
        return reversed(self._values)

    def keys(self):
        """The keys, in the order in which they were stored; a live view."""
        return self._values.keys()

    def values(self):
        """The values; a live view."""
        return self._values.values()

    def items(self):
        """The keys with their values; a live view."""
        return self._values.items()

    def __repr__(self):
        return (
            f"<Cache of {len(self)} objects, {self.currsize} of {self.maxsize}, {self.hits} hits, {self.misses} misses>"
        )

    # Inside

    def _look_up(self, key, size=None):
        """One request for the key: the object, touched, or None. With a size, the object takes it on if it can."""
        obj = self._objects.get(key)
        now = float(self.hits + self.misses)
        self._policy.now = self._policy.ghost.now = now
        if obj is None:
            self.misses += 1
            self._identity(key)
            self._open.pop(key, None)
            self._open[key] = None
            if len(self._open) > _MOST_OPEN_MISSES:
                del self._open[next(iter(self._open))]
            return None
        self.hits += 1
        obj.count += 1.0
        obj.last_access = now
        if size is not None and size <= self._capacity:
            self._state.used += size - obj.size
            obj.size = float(size)
        self._state.update(now, obj, self._policy.victim)
        self._mechanism.touch(obj)
        return obj

    def _identity(self, key):
        """What `obj.id` is: the key itself, unless the policy computes with it."""
        if "obj.id" not in _USES:
            return key
        return self._numbers.setdefault(key, float(len(self._numbers)))

    def _store(self, key, value, size):
        if size > self._capacity:
            self.bypassed += 1
            return
        obj = _Object(key, self._identity(key), float(size), self._policy.now)
        victim = self._mechanism.lowest() if self._state.used + size > self._capacity else None
        if not self._policy.admits(obj, victim):
            self.bypassed += 1
            if _ASKS_GHOST:
                free = math.floor((self._capacity - self._state.used) / size)
                self._policy.ghost.turn_away(obj, self._state.objects + free)
            return
        while self._state.used + size > self._capacity:
            self._evict(victim)
            victim = None
        self._objects[key] = obj
        self._values[key] = value
        self._state.used += size
        self._state.objects += 1.0
        self._state.enter(self._policy.now, obj, self._policy.victim)
        self._mechanism.add(obj)

    def _replace(self, obj, value, size):
        """A stored object, looked up with its new size, gets another value."""
        self._values[obj.key] = value
        if size > self._capacity:
            self.bypassed += 1
            self._remove(obj)
        while self._state.used > self._capacity:
            self._evict()

    def _evict(self, obj=None):
        obj = obj or self._mechanism.lowest()
        evicted_priority = obj.priority
        if _ASKS_GHOST:
            self._policy.ghost.remember(obj, self._state.objects)
        value = self._remove(obj)
        self._state.evicted_priority = evicted_priority
        return obj.key, value

    def _remove(self, obj):
        self._state.leave(obj)
        self._mechanism.remove(obj)
        self._state.used -= obj.size
        self._state.objects -= 1.0
        del self._objects[obj.key]
        return self._values.pop(obj.key)


def _checked(size):
    if not 0 <= size <= _LARGEST_OBJECT:
        raise ValueError(f"a size must be from 0 to 2**32, not {size!r}")
    return max(1, size)
