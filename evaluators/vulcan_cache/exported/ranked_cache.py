"""A cache of which the object with the lowest priority leaves."""

from vulcan_cache.exported.mapping import _CacheMapping


class _RankedCache(_CacheMapping):
    """`policy` gives priorities and knows what is new; `mechanism(policy)` has all objects in the cache."""

    def __init__(self, capacity, policy, mechanism, draw, getsizeof):
        super().__init__(capacity, policy.state, policy.numbered, getsizeof)
        self._policy = policy
        self._mechanism = mechanism(policy, **draw)

    def _tick(self, now):
        self._policy.now = self._policy.ghost.now = now
        self._mechanism.look_again(now)  # with recheck

    def _touch(self, obj):
        self._policy.update(obj)  # with statistics
        self._state.on_hit(self._policy.now, obj, self._policy.ghost)  # with on_hit
        self._mechanism.touch(obj)

    def _let_in(self, key, value, size):
        obj = self._policy.new(key, self._identity(key), float(size))
        self._miss(obj)  # with state
        if self._state.used + size <= self._capacity and not self._policy.admits(obj, None):  # with admit
            return False
        while self._state.used + size > self._capacity:
            victim = self._mechanism.lowest()
            if not self._policy.admits(obj, victim):  # with admit
                return False
            self._evict(victim)
        self._keep(obj, value)
        self._policy.enter(obj)  # with statistics
        self._state.on_insert(self._policy.now, obj, self._policy.ghost)  # with on_insert
        self._mechanism.add(obj)
        return True

    def _miss(self, obj):  # with state
        """The object was missed; it has the fields that it left with, if the ghost list remembers it."""
        ghost = self._policy.ghost
        if (fields := ghost.fields(obj.id)) is not None:
            obj.resume(fields)
            self._state.on_ghost_hit(self._policy.now, obj, ghost)  # with on_ghost_hit
        self._state.on_miss(self._policy.now, obj, ghost)  # with on_miss

    def _evict(self, obj=None):
        obj = obj or self._mechanism.lowest()
        self._state.on_evict(self._policy.now, obj, self._policy.ghost)  # with on_evict
        evicted_priority = obj.priority
        if self._policy.asks_ghost:
            self._policy.ghost.remember(obj.id, obj.count, self._state.objects)
        value = self._remove(obj)
        self._state.evicted_priority = evicted_priority
        return obj.key, value

    def _forget(self, obj):
        self._policy.ghost.keep(obj.id, obj.fields())  # with state
        self._mechanism.remove(obj)
