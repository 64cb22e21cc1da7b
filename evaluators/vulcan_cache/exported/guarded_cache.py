"""A cache that follows a policy as long as it loses little to a safe one."""

from vulcan_cache.exported.mapping import _CacheMapping

_POLICY, _SAFE = 0, 1
_EVIDENCE = 32.0


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


class _GuardedCache(_CacheMapping):
    """A cache of limited size that a policy manages, guarded by a safe policy; used like a dictionary.

    Both policies manage a directory of keys, of the full capacity, and see every request. The cache follows one of
    them: it stores what that one stores, and evicts, when it needs space, only what that one no longer holds. It begins
    with the policy, and until it first leaves it, it has everything that the policy would have alone.

    In any `n` consecutive requests it misses at most

        tolerance * n + allowance * K

    requests more than the safe policy would have missed, run alone from the start; K is the most objects that the safe
    policy has held so far. `behind` counts the misses more than those of the safe policy, less `tolerance` a request
    and never below 0. The safe policy is followed as soon as `behind` and the number of objects that it holds and the
    cache lacks, the most that the change can still cost, would together exceed `allowance * K`. The policy is followed
    again when it has since missed fewer requests, by at least the number of objects that it holds and the cache lacks.

    The bound assumes that each key keeps its size, and that nothing is removed except by requests. `capacity`,
    `getsizeof`, `hits`, `misses`, `bypassed` and what counts as a request are those of the class that
    `vulcan export --format python` writes for one policy, except that a look-up that misses, and is not followed by
    storing the key, is no request to either policy. Further arguments are those of the policy's own class. The
    directories take the memory of the keys twice more, and a request the time of three. Not safe for several threads
    without a lock of one's own.
    """

    def __init__(self, capacity, policy, safe, *, tolerance=0.01, allowance=1.0, getsizeof=None, **how):
        super().__init__(capacity, _Held(), False, getsizeof)
        if not 0 <= tolerance <= 1 or not allowance >= 0:
            raise ValueError(f"tolerance {tolerance!r} or allowance {allowance!r} is out of range")
        self.behind = 0.0
        """Misses more than those of the safe policy, less `tolerance` a request; never below 0."""
        self.switches = 0
        """How often another policy was followed."""
        self.safe_misses = 0
        """Requests that the safe policy would have missed."""
        self._tolerance = tolerance
        self._allowance = allowance
        self._policies = (_directory(policy)(capacity, **how), _directory(safe)(capacity))
        self._lacks = (set(), set())  # keys that a policy holds and the cache does not
        self._followed = _POLICY
        self._gain = 0.0
        self._most_held = 0
        self._resized = False
        self._now = 0.0
        self._strays = {}  # keys that the cache holds and the policy followed does not, by number
        self._in_order = []  # pairs of a number and a key, of which some are strays no more
        self._first = 0
        self._last_stray = 0

    @property
    def is_guarding(self):
        """True while the safe policy is followed."""
        return self._followed == _SAFE

    @property
    def allowed(self):
        """The most misses, beyond `tolerance` a request, that it may be behind the safe policy."""
        return self._allowance * self._most_held

    def seed(self, seed):
        """Start the policy's random numbers with a whole number; they start with that of the search."""
        self._policies[_POLICY].seed(seed)

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
        if not self._strays:
            self._policies[self._followed].evict()
            self._note_departures(self._followed)
        obj = self._objects[self._oldest_stray()]
        return obj.key, self._remove(obj)

    def _forget(self, obj):
        self._strays.pop(obj.key, None)
        for policy, lacks in zip(self._policies, self._lacks, strict=True):
            if obj.key in policy:
                lacks.add(obj.key)

    # The guard

    def _request(self, key, size, is_hit):
        """Make the request to both policies, keep the account, and choose whom to follow."""
        missed = [self._request_of(which, key, size) for which in (_POLICY, _SAFE)]
        self.safe_misses += missed[_SAFE]
        self._most_held = max(self._most_held, len(self._policies[_SAFE]))
        self.behind = max(0.0, self.behind + ((not is_hit) - missed[_SAFE]) - self._tolerance)
        self._gain = max(0.0, self._gain + (missed[_SAFE] - missed[_POLICY]) - self._tolerance)
        if self._followed == _POLICY:
            if self.behind + len(self._lacks[_SAFE]) > self.allowed:
                self._follow(_SAFE)
        else:
            to_fetch = len(self._lacks[_POLICY])
            if self._gain >= max(_EVIDENCE, to_fetch) and self.behind + 2 * to_fetch <= self.allowed:
                self._follow(_POLICY)

    def _request_of(self, which, key, size):
        """Make the request to one of the policies: whether it missed."""
        policy = self._policies[which]
        before = policy.misses
        if self._resized:
            policy.put(key, None, size)
        else:
            policy.request(key, size)
        if key in policy:
            if key not in self._objects:
                self._lacks[which].add(key)
            elif which == self._followed:
                self._strays.pop(key, None)
        self._note_departures(which)
        return policy.misses > before

    def _note_departures(self, which):
        policy = self._policies[which]
        if not policy.left:
            return
        gone = [key for key in dict.fromkeys(policy.left) if key not in policy]
        policy.left.clear()
        self._lacks[which].difference_update(gone)
        if which == self._followed:
            stored = [self._objects[key] for key in gone if key in self._objects]
            for obj in sorted(stored, key=lambda obj: obj.last_access):
                self._add_stray(obj.key)

    def _follow(self, which):
        self._followed = which
        self._gain = 0.0
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
            costs_more = victim in self._policies[_SAFE]
            if self._followed == _POLICY and costs_more and self.behind + len(self._lacks[_SAFE]) + 1 > self.allowed:
                self._follow(_SAFE)
            else:
                self._remove(self._objects[victim])
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
