"""A cache that is used like a dictionary; what is evicted is for a subclass to say."""

_ABSENT = object()
_LARGEST_OBJECT = 2**48
_MOST_OPEN_MISSES = 1024


class _CacheMapping:
    """Counts requests and sizes, and keeps values.

    `state` has the sizes of all that is stored and its number, `used` and `objects`; it is told of what leaves. With
    `numbered`, objects are identified by numbers in order of their first appearance, else by their keys.

    A subclass says what is let in and what leaves; this one lets nothing in.
    """

    def __init__(self, capacity, state, numbered, getsizeof):
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
        self._state = state
        self._numbered = numbered
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

    def seed(self, seed):  # with state
        """Start the policy's random numbers with a whole number; they start with that of the search."""
        self._state.seed(seed)

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
        value = self._values.get(key)  # before the look-up, which may make the object leave
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

    # What a subclass says

    def _tick(self, now):
        """The time of the request that follows."""

    def _let_in(self, key, value, size):
        """Store what is not stored and no larger than the cache, after others have left: whether that was done."""
        return False

    def _evict(self):
        """Have an object leave: its key and value."""
        obj = next(iter(self._objects.values()))
        return obj.key, self._remove(obj)

    def _touch(self, obj):
        """The object was hit."""

    def _resize(self, obj, size):
        """The object is of another size from now on."""
        obj.size = size

    def _forget(self, obj):
        """The object leaves."""

    # Inside

    def _store(self, key, value, size):
        if size > self._capacity or not self._let_in(key, value, size):
            self.bypassed += 1

    def _look_up(self, key, size=None):
        """One request for the key: the object, touched, or None. With a size, the object takes it on if it can."""
        obj = self._objects.get(key)
        now = float(self.hits + self.misses)
        self._tick(now)
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
            self._resize(obj, float(size))
        self._touch(obj)
        return obj

    def _identity(self, key):
        """What `obj.id` is: the key itself, unless the policy computes with it."""
        return self._numbers.setdefault(key, float(len(self._numbers))) if self._numbered else key

    def _keep(self, obj, value):
        """What was not stored is, from now on."""
        self._objects[obj.key] = obj
        self._values[obj.key] = value
        self._state.used += obj.size
        self._state.objects += 1.0

    def _replace(self, obj, value, size):
        """A stored object, looked up with its new size, gets another value; unless the look-up made it leave."""
        if obj.key not in self._objects:
            return
        self._values[obj.key] = value
        if size > self._capacity:
            self.bypassed += 1
            self._remove(obj)
        while self._state.used > self._capacity:
            self._evict()

    def _remove(self, obj):
        self._state.leave(obj)
        self._forget(obj)
        self._state.used -= obj.size
        self._state.objects -= 1.0
        del self._objects[obj.key]
        return self._values.pop(obj.key)


def _checked(size):
    if not 0 <= size <= _LARGEST_OBJECT:
        raise ValueError(f"a size must be from 0 to 2**48, not {size!r}")
    return max(1, size)
