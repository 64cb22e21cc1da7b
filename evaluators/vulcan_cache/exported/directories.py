"""A cache that stores what one of several policies stores: each manages a directory of keys and sees every request."""

from vulcan_cache.exported.mapping import _CacheMapping


class _Held:
    """The size and number of all that is stored."""

    def __init__(self):
        self.used = 0.0
        self.objects = 0.0

    def leave(self, obj):
        """Nothing else is counted."""


class _Stored:
    """An object of the cache."""

    __slots__ = ("count", "key", "last_access", "size")

    def __init__(self, key, size, now):
        self.key = key
        self.size = size
        self.count = 1.0
        self.last_access = now


class _Lacked(dict):
    """The keys that a policy holds and the cache does not, with what each counts; `total` is their sum."""

    total = 0.0

    def add(self, key, weight):
        self[key] = weight
        self.total += weight

    def discard(self, key):
        self.total -= self.pop(key, 0.0)


def _directory(cache):
    """Derive a class that holds keys without values and reports which keys left."""

    class _Directory(cache):
        def __init__(self, capacity, **how):
            self.left = []
            super().__init__(capacity, **how)

        def _remove(self, obj):
            self.left.append(obj.key)
            return super()._remove(obj)

    return _Directory


def admit(policy, key):
    """Whether the policy that is followed has the key stored; a policy may turn objects away."""
    return key in policy


class _DirectoriesCache(_CacheMapping):
    """A cache that follows one of several policies; used like a dictionary.

    Each policy manages a directory of keys, of the full capacity, and sees every request. The cache follows one of
    them: it stores what that one stores, and evicts, when it needs space, only what that one no longer holds. It begins
    with the first.

    `capacity`, `getsizeof`, `hits`, `misses`, `bypassed` and what counts as a request are those of the class that
    `vulcan export --format python` writes for one policy, except that a look-up that misses, and is not followed by
    storing the key, is no request to any policy. The directories take the memory of the keys once more for each
    policy, and a request the time of all of them. Not safe for several threads without a lock of one's own.

    A subclass says which is followed (`_decide`), and before what is evicted another one (`_gives_way`).
    """

    def __init__(self, capacity, directories, getsizeof):
        super().__init__(capacity, _Held(), False, getsizeof)
        self.switches = 0
        """How often another policy was followed."""
        self._policies = tuple(directories)
        self._lacks = tuple(_Lacked() for _ in self._policies)
        self._followed = 0
        self._resized = False
        self._now = 0.0
        self._strays = {}  # keys that the cache holds and the policy followed does not, by number
        self._in_order = []  # pairs of a number and a key, of which some are strays no more
        self._first = 0
        self._last_stray = 0

    def pop(self, key, *default):
        """Remove the key and give its value, or the default. Raises KeyError where there is neither."""
        value = super().pop(key, *default)
        for which, policy in enumerate(self._policies):
            policy.pop(key, None)
            policy.left.clear()
            self._lacks[which].discard(key)
        return value

    def clear(self):
        """Remove everything; the counters stay."""
        for policy, lacks in zip(self._policies, self._lacks, strict=True):
            policy.clear()
            policy.left.clear()
            lacks.clear()
            lacks.total = 0.0
        super().clear()

    # What the mapping asks

    def _tick(self, now):
        self._now = now

    def _resize(self, obj, size):
        obj.size = size
        self._resized = True

    def _touch(self, obj):
        self._request(obj.key, obj.size, True)
        self._resized = False

    def _store(self, key, value, size):
        self._request(key, size, False)
        if not self._make_room(key, size):
            self.bypassed += 1
            return
        self._keep(_Stored(key, float(size), self._now), value)
        for lacks in self._lacks:
            lacks.discard(key)

    def _evict(self):
        while not self._strays:  # what the policy lets go of first may have left the cache before
            self._policies[self._followed].evict()
            self._note_departures(self._followed)
        obj = self._objects[self._oldest_stray()]
        return obj.key, self._remove(obj)

    def _forget(self, obj):
        self._strays.pop(obj.key, None)
        for policy, lacks in zip(self._policies, self._lacks, strict=True):
            if obj.key in policy:
                lacks.add(obj.key, self._weight(obj.size))

    # The policies

    def _weight(self, size):
        """Return what an object of this size counts."""
        return 1.0

    def _request(self, key, size, is_hit):
        """Make the request to all policies, and choose whom to follow."""
        self._decide([self._request_of(which, key, size) for which in range(len(self._policies))], size, is_hit)

    def _request_of(self, which, key, size):
        """Make the request to one of the policies: whether it missed."""
        policy = self._policies[which]
        before = policy.misses
        held = key in policy
        if self._resized:
            policy.put(key, None, size)
        else:
            policy.request(key, size)
        if key in policy:
            if key in self._objects:
                if which == self._followed:
                    self._strays.pop(key, None)
            elif not held:
                self._lacks[which].add(key, self._weight(size))
        self._note_departures(which)
        return policy.misses > before

    def _note_departures(self, which):
        policy = self._policies[which]
        if not policy.left:
            return
        gone = [key for key in dict.fromkeys(policy.left) if key not in policy]
        policy.left.clear()
        for key in gone:
            self._lacks[which].discard(key)
        if which == self._followed:
            stored = [self._objects[key] for key in gone if key in self._objects]
            for obj in sorted(stored, key=lambda obj: obj.last_access):
                self._add_stray(obj.key)

    def _follow(self, which):
        self._followed = which
        self.switches += 1
        self._strays.clear()
        self._in_order.clear()
        self._first = 0
        held = self._policies[which]
        stored = [obj for obj in self._objects.values() if obj.key not in held]
        for obj in sorted(stored, key=lambda obj: obj.last_access):
            self._add_stray(obj.key)

    def _make_room(self, key, size):
        """Evict strays until there is room: whether there is, and the policy followed holds the key."""
        while admit(self._policies[self._followed], key):
            if self._state.used + size <= self._capacity:
                return True
            if not self._strays:
                return False
            victim = self._oldest_stray()
            if not self._gives_way(victim):
                self._remove(self._objects[victim])
        return False

    def _gives_way(self, victim):
        """Return whether another policy is followed from here on, before this object is evicted."""
        return False

    def _add_stray(self, key):
        self._last_stray += 1
        self._strays[key] = self._last_stray
        self._in_order.append((self._last_stray, key))

    def _oldest_stray(self):
        """Return the key that has been a stray for longest, dropping what is one no more."""
        in_order = self._in_order
        while self._strays.get(in_order[self._first][1]) != in_order[self._first][0]:
            self._first += 1
        if 2 * self._first > len(in_order):
            del in_order[: self._first]
            self._first = 0
        return in_order[self._first][1]
