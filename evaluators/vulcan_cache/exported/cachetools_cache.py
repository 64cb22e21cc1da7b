"""A policy as a class of the package cachetools: `PolicyCache`."""

import collections.abc

import cachetools

from vulcan_cache.exported.twin import _Twin

# --- exported modules have the policy above this line ---


class _Unasked:
    """What a cache holds, read without a request."""

    def __init__(self, cache):
        self._cache = cache

    def __len__(self):
        return len(self._cache)

    def __iter__(self):
        return iter(self._cache)

    def __contains__(self, key):
        return key in self._cache

    def __getitem__(self, key):
        return cachetools.Cache.__getitem__(self._cache, key)


class PolicyCache(cachetools.Cache):
    """A cache of cachetools that keeps what the policy decides; for `cachetools.cached` as any other is.

    `maxsize` and `getsizeof` are those of `cachetools.Cache`: without `getsizeof` each value has the size 1, and a
    value that is larger than `maxsize` raises ValueError. To the policy a size below 1 is 1. `how` is what the class
    `Cache` above takes besides its capacity.

    Time is counted in requests, as in the simulator. A look-up is one, whether it hits or misses, and so is storing a
    value; but storing under a key whose look-up missed before completes that look-up, and both are one request. `in`,
    `len`, iteration, `items`, `values`, `==`, `pop`, `popitem` and `del` are none; but `dict(cache)` looks each key
    up. So its hits and misses in front of a slower store are those of the simulator on the same keys.

    Storing a value, and with some policies a look-up, may evict any key; the policy may also turn the new key away,
    which is no error. Not safe for several threads without a lock, as every cache of cachetools.
    """

    def __init__(self, maxsize, getsizeof=None, **how):
        super().__init__(maxsize, getsizeof)
        self.__twin = _Twin(max(1, maxsize), **how)

    @property
    def hits(self):
        """Requests that found their key."""
        return self.__twin.hits

    @property
    def misses(self):
        """Requests that did not."""
        return self.__twin.misses

    def __getitem__(self, key):
        if key not in self:
            self.__twin.get(key)
            return self.__missing__(key)
        value = super().__getitem__(key)
        self.__twin.get(key)
        self.__drop()
        return value

    def get(self, key, default=None):
        """The value of the key, or the default where it is not stored."""
        if key in self:
            return self[key]
        self.__twin.get(key)
        return default

    def __setitem__(self, key, value):
        size = self.getsizeof(value)
        if size > self.maxsize:
            raise ValueError("value too large")
        if size < 0:
            raise ValueError("value size must be non-negative")
        self.__twin.put(key, None, size)
        self.__drop()
        if key in self.__twin:
            super().__setitem__(key, value)

    def __delitem__(self, key):
        super().__delitem__(key)
        self.__twin.discard(key)

    def pop(self, key, *default):
        """Remove the key and give its value, or the default. Raises KeyError where there is neither."""
        if key not in self:
            if not default:
                raise KeyError(key)
            return default[0]
        value = super().__getitem__(key)
        del self[key]
        return value

    def popitem(self):
        """Evict what the policy chooses, and give its key and value. Raises KeyError where nothing is stored."""
        if not self:
            raise KeyError(f"{type(self).__name__} is empty")
        key, _ = self.__twin.popitem()
        value = super().__getitem__(key)
        self.__drop()
        return key, value

    def items(self):
        """The keys with their values; a live view."""
        return collections.abc.ItemsView(_Unasked(self))

    def values(self):
        """The values; a live view."""
        return collections.abc.ValuesView(_Unasked(self))

    def clear(self):
        """Remove everything; what the policy knows of what left stays."""
        super().clear()
        self.__twin.clear()
        self.__twin.taken()

    def __copy__(self):
        raise TypeError(f"{type(self).__name__} cannot be copied: its policy would serve two caches")

    def __drop(self):
        """Remove what the policy evicted."""
        for key in self.__twin.taken():
            super().__delitem__(key)
