"""How a policy of queues is used at run time: the class `Cache`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (first in, first out) the file works as it is.
"""

import math

_USES = frozenset()


def insert(now: float, obj: "_Object", cache: "_State", queues: "_Queues", ghost: "_Ghost") -> float:
    return 1.0


def hit(now: float, obj: "_Object", cache: "_State", queues: "_Queues") -> float:
    return 0.0


def tail(now: float, obj: "_Object", cache: "_State", queues: "_Queues") -> float:
    return -1.0


def keep(now: float, obj: "_Object", cache: "_State", queues: "_Queues") -> float:
    return 0.0


def share(queue: float, cache: "_State", queues: "_Queues") -> float:
    return cache.capacity


class _Entity:
    __slots__ = ()


class _Statistics:
    def enter(self, now: float, obj: "_Object", queues: "_Queues", queue: float) -> None:
        """The entity, a new object, has entered."""

    def update(self, now: float, obj: "_Object", queues: "_Queues", queue: float) -> None:
        """The entity was touched."""

    def leave(self, obj: "_Object") -> None:
        """The entity leaves."""


# --- exported modules have the policy above this line ---


_NUMBERS = (1, 2, 3, 4)
_IN_GHOST = 5
_FORGET = -1
_MOVES_A_REQUEST = 4
_MOST_KEPT = 2.0**20
_LAST_ASKED = 4.0  # the queue whose share is asked for last


class _Object(_Entity):
    """What the policy sees of an object: the argument `obj`."""

    __slots__ = ("count", "hits", "id", "insertion", "key", "last_access", "newer", "older", "queue", "size")

    def __init__(self, key: object, identity, size: float, now: float) -> None:
        super().__init__()
        self.key = key
        self.id = identity  # a number where the policy computes with it, else the key
        self.size = size
        self.count = 1.0
        self.hits = 0.0
        self.queue = 0.0
        self.last_access = now
        self.insertion = now
        self.newer = self.older = None  # its neighbours in the queue


class _Left:
    """What is known of an object in the ghost list."""

    __slots__ = ("count", "identity", "newer", "older", "size", "time")

    def __init__(self, identity: object, size: float, count: float, time: float) -> None:
        self.identity = identity
        self.size = size
        self.count = count
        self.time = time
        self.newer = self.older = None


class _Ring:
    """A queue: what is newer than the ring itself is its tail, what is older is its head."""

    def __init__(self) -> None:
        self.newer = self.older = self

    def add(self, node) -> None:
        """Put it at the head."""
        node.newer, node.older = self, self.older
        self.older.newer = node
        self.older = node

    @staticmethod
    def remove(node) -> None:
        node.newer.older = node.older
        node.older.newer = node.newer
        node.newer = node.older = None


class _State(_Statistics):
    """What the policy sees of the whole cache: the argument `cache`."""

    def __init__(self, capacity: float) -> None:
        super().__init__()
        self.used = 0.0
        self.capacity = capacity
        self.objects = 0.0
        self.evictions = 0.0


class _Queues:
    """What the policy sees of the queues: the argument `queues`; and the objects in them."""

    def __init__(self) -> None:
        self.used_1 = self.used_2 = self.used_3 = self.used_4 = 0.0
        self.objects_1 = self.objects_2 = self.objects_3 = self.objects_4 = 0.0
        self.rings = {number: _Ring() for number in _NUMBERS}

    def used(self, number: int) -> float:
        return (self.used_1, self.used_2, self.used_3, self.used_4)[number - 1]

    def objects(self, number: int) -> float:
        return (self.objects_1, self.objects_2, self.objects_3, self.objects_4)[number - 1]

    def put(self, obj: _Object, number: int) -> None:
        """Put the object at the head."""
        obj.queue = float(number)
        self.rings[number].add(obj)
        self.grow(number, obj.size, 1.0)

    def take(self, obj: _Object) -> None:
        _Ring.remove(obj)
        self.grow(int(obj.queue), -obj.size, -1.0)

    def grow(self, number: int, size: float, objects: float) -> None:
        if number == 1:
            self.used_1 += size
            self.objects_1 += objects
        elif number == 2:
            self.used_2 += size
            self.objects_2 += objects
        elif number == 3:
            self.used_3 += size
            self.objects_3 += objects
        else:
            self.used_4 += size
            self.objects_4 += objects


class _Ghost:
    """The objects that left or were not let in, as far as their share reaches: the argument `ghost`."""

    def __init__(self) -> None:
        self.now = 0.0
        self._known: dict[object, _Left] = {}
        self._ring = _Ring()
        self._used = 0.0

    def contains(self, identity: object) -> float:
        return 1.0 if identity in self._known else 0.0

    def count(self, identity: object) -> float:
        left = self._known.get(identity)
        return 0.0 if left is None else left.count

    def age(self, identity: object) -> float:
        left = self._known.get(identity)
        return 0.0 if left is None else self.now - left.time

    def take(self, identity: object) -> None:
        """The object is back: it takes no room in the list any more, and is known until it is forgotten."""
        left = self._known.get(identity)
        if left is not None:
            self._used -= left.size
            self._ring.remove(left)

    def forget(self, identity: object) -> None:
        """Of an object that was taken."""
        self._known.pop(identity, None)

    def remember(self, identity: object, size: float, count: float, limit: float) -> None:
        if size > limit:
            return
        while self._used + size > limit:
            left = self._ring.newer
            self._used -= left.size
            self._ring.remove(left)
            del self._known[left.identity]
        left = self._known[identity] = _Left(identity, size, count, self.now)
        self._ring.add(left)
        self._used += size


def _whole(answer: float, low: float) -> int:
    """The nearest whole number within bounds."""
    return math.floor(min(max(answer, low), 4.0) + 0.5)


_ABSENT = object()
_LARGEST_OBJECT = 2**32
_MOST_OPEN_MISSES = 1024


class Cache:
    """A cache of up to four FIFO queues; what is let in, moved and evicted is the policy's decision.

    It is used like a dictionary. `capacity` is in bytes, or whatever unit sizes are in. `getsizeof(value)` gives the
    size of a value that is stored without one; without it, that size is 1. A size of 0 counts as 1. What is larger than
    the cache, or what the policy does not let in, is not stored (it is bypassed), which is not an error.

    Time is counted in requests, as in the simulator. These are requests:

    * a look-up, `cache[key]` or `cache.get(key)`, whether it hits or misses;
    * storing a value, `cache[key] = value` or `cache.put(key, value)`; but storing under a key whose look-up missed
      before completes that look-up, and both are one request. (The last 1,024 missed keys are remembered for it.)
    * `cache.request(key, size)`, which is both at once: what a simulator does.

    So a read-through cache (get; on a miss fetch the value and put it) evicts exactly what the simulator evicts on
    the same sequence of keys, and so does a loop over `request`. Nothing else is a request: `in`, `len`, iteration,
    `keys`, `values`, `items`, `pop` and `del` tell the policy nothing of use. An object keeps the size it was stored
    with until it is stored anew. A hit may make the policy evict objects, the one that was hit among them.

    Memory is bounded by what the cache holds and the ghost list's share, except that a policy that computes with
    `obj.id` needs to number keys in order of their first appearance, and so to remember every key there ever was.

    It has what a `MutableMapping` has (`collections.abc.MutableMapping.register(Cache)` makes that known). It is not
    safe to use from several threads without a lock of one's own.
    """

    def __init__(self, capacity, *, getsizeof=None):
        if not 1 <= capacity <= 2**53:
            raise ValueError(f"capacity must be from 1 to 2**53, not {capacity!r}")
        self.hits = 0
        """Requests that found their key."""
        self.misses = 0
        """Requests that did not."""
        self.bypassed = 0
        """Times that something was not stored: it is larger than the cache, or the policy did not let it in."""
        self._capacity = capacity
        self._getsizeof = getsizeof
        self._now = 0.0
        self._state = _State(float(capacity))
        self._queues = _Queues()
        self._ghost = _Ghost()
        self._moves = 0
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
        value = self._values.get(key)
        if self._look_up(key) is None:
            raise KeyError(key)
        return value

    def get(self, key, default=None):
        """The value of the key, or the default where it is not stored."""
        value = self._values.get(key)
        return default if self._look_up(key) is None else value

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
        value = self._values.get(key)
        if self._look_up(key) is not None:
            return value
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
        self._now = self._ghost.now = float(self.hits + self.misses)
        self._moves = min(self._moves + _MOVES_A_REQUEST, _MOVES_A_REQUEST * len(self._objects))
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
        obj.hits += 1.0
        obj.last_access = self._now
        if size is not None and size <= self._capacity:
            self._state.used += size - obj.size
            self._queues.grow(int(obj.queue), size - obj.size, 0.0)
            obj.size = float(size)
        self._state.update(self._now, obj, self._queues, _LAST_ASKED)
        self._hit(obj)
        return obj

    def _hit(self, obj):
        to = _whole(hit(self._now, obj, self._state, self._queues), 0.0)
        if to == 0:
            return
        filled = {to} - {int(obj.queue)}
        self._queues.take(obj)
        self._queues.put(obj, to)
        while overfull := [number for number in filled if self._queues.used(number) > self._share(number)]:
            moved = self._look_at_tail(max(overfull), self._share(0))
            if isinstance(moved, int):
                filled.add(moved)

    def _share(self, number):
        return min(max(share(float(number), self._state, self._queues), 0.0), self._state.capacity)

    def _identity(self, key):
        """What `obj.id` is: the key itself, unless the policy computes with it."""
        if "obj.id" not in _USES:
            return key
        return self._numbers.setdefault(key, float(len(self._numbers)))

    def _queue_for(self, obj):
        return _whole(insert(self._now, obj, self._state, self._queues, self._ghost), -1.0)

    def _store(self, key, value, size):
        if size > self._capacity:
            self.bypassed += 1
            return
        obj = _Object(key, self._identity(key), float(size), self._now)
        known = self._ghost.count(obj.id)
        obj.queue = float(_IN_GHOST if self._ghost.contains(obj.id) else 0)
        self._ghost.take(obj.id)
        to = self._queue_for(obj)
        if to < 1:
            self.bypassed += 1
            self._ghost.forget(obj.id)
            if to != _FORGET:
                self._ghost.remember(obj.id, obj.size, known + 1.0, self._share(0))
            return
        if self._state.used + size > self._capacity:
            while self._state.used + size > self._capacity:
                self._evict()
            to = max(self._queue_for(obj), 1)
        self._ghost.forget(obj.id)
        self._objects[key] = obj
        self._values[key] = value
        self._state.used += size
        self._state.objects += 1.0
        self._queues.put(obj, to)
        self._state.enter(self._now, obj, self._queues, _LAST_ASKED)

    def _replace(self, obj, value, size):
        """A stored object, looked up with its new size, gets another value; unless the look-up made it leave."""
        if self._objects.get(obj.key) is not obj:
            return
        self._values[obj.key] = value
        if size > self._capacity:
            self.bypassed += 1
            self._remove(obj)
        while self._state.used > self._capacity:
            self._evict()

    def _evict(self):
        """Have a queue shrink, and another one where it is empty, until an object has left: its key and value."""
        while True:
            overfull = [number for number in _NUMBERS if self._queues.used(number) > self._share(number)]
            shrinking = max(overfull) if overfull else min(n for n in _NUMBERS if self._queues.objects(n))
            remembered = self._share(0)
            while self._queues.objects(shrinking):
                left = self._look_at_tail(shrinking, remembered)
                if not isinstance(left, int):
                    return left

    def _look_at_tail(self, number, remembered):
        """The queue that the object at the tail moves to, or its key and value where it leaves."""
        obj = self._queues.rings[number].newer
        to = _whole(tail(self._now, obj, self._state, self._queues), -1.0)
        if to > 0 and self._moves > 0:
            self._moves -= 1
            kept = keep(self._now, obj, self._state, self._queues)
            self._queues.take(obj)
            obj.hits = float(math.floor(min(max(kept, 0.0), _MOST_KEPT)))
            self._queues.put(obj, to)
            return to
        value = self._remove(obj)
        self._state.evictions += 1.0
        if to != _FORGET:
            self._ghost.remember(obj.id, obj.size, obj.count, remembered)
        return obj.key, value

    def _remove(self, obj):
        self._state.leave(obj)
        self._queues.take(obj)
        self._state.used -= obj.size
        self._state.objects -= 1.0
        del self._objects[obj.key]
        return self._values.pop(obj.key)


def _checked(size):
    if not 0 <= size <= _LARGEST_OBJECT:
        raise ValueError(f"a size must be from 0 to 2**32, not {size!r}")
    return max(1, size)
