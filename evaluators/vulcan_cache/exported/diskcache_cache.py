"""A policy as a class of the package diskcache: `PolicyCache`."""

import threading

import diskcache

from vulcan_cache.exported.twin import _Twin

# --- exported modules have the policy above this line ---


class PolicyCache(diskcache.Cache):
    """A cache of diskcache that holds what the policy decides; of one process at a time, safe for its threads.

    `capacity` is in the units of `size_of`, which returns the size of a value; without it each has the size 1. `how` is
    what the class `Cache` above takes besides its capacity; the rest is diskcache's. What is in the directory at first
    is shown to the policy in the order in which it was stored. `get` and storing are requests as in the class above; a
    value that is too large, or turned away, is not stored, and `set` and `add` return False. What expires leaves
    without the policy. Counters and queues (`incr`, `push`) are not the policy's, and stay.
    """

    def __init__(self, capacity, directory=None, size_of=None, how=None, **settings):
        self.__lock = threading.RLock()
        self.__twin = _Twin(capacity, **(how or {}))
        self.__size_of = size_of or (lambda value: 1)
        super().__init__(directory, **{**settings, "eviction_policy": "none", "cull_limit": 0})
        for key in list(self):
            self.__show(key, super().get(key))

    def get(self, key, *rest, **options):
        """See diskcache; a request."""
        with self.__lock:
            if key not in self:
                self.__twin.discard(key)
            found = super().get(key, *rest, **options)
            self.__twin.get(key)
            self.__drop()
            return found

    def set(self, key, value, *rest, **options):
        """See diskcache; a request, unless the key was just missed."""
        with self.__lock:
            return self.__show(key, value) and super().set(key, value, *rest, **options)

    def add(self, key, value, *rest, **options):
        """See diskcache."""
        with self.__lock:
            return key not in self and self.set(key, value, *rest, **options)

    def pop(self, key, *rest, **options):
        """See diskcache; no request."""
        with self.__lock:
            self.__twin.discard(key)
            return super().pop(key, *rest, **options)

    def __delitem__(self, key, retry=True):
        with self.__lock:
            super().__delitem__(key, retry=retry)
            self.__twin.discard(key)

    def clear(self, retry=False):
        """Remove everything; what the policy knows of what left stays."""
        with self.__lock:
            self.__twin.clear()
            self.__twin.taken()
            return super().clear(retry=retry)

    def __getstate__(self):
        raise TypeError(f"{type(self).__name__} cannot be pickled: its policy would serve two caches")

    def __show(self, key, value):
        """Whether the policy takes the key in; what it evicts leaves."""
        self.__twin.put(key, None, self.__size_of(value))
        self.__drop()
        return key in self.__twin

    def __drop(self):
        """Remove what the policy evicted."""
        for key in self.__twin.taken():
            super().delete(key, retry=True)
