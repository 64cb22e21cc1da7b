"""A cache without values beside one that another package keeps."""

from vulcan_cache.exported.mapping import _CacheMapping as Cache

# --- exported modules have the policy above this line ---


class _Twin(Cache):
    """The policy's own cache of the same keys, without values; it tells which of them left, in order."""

    def __init__(self, capacity, **how):
        self.left = []
        super().__init__(capacity, **how)

    def _remove(self, obj):
        self.left.append(obj.key)
        return super()._remove(obj)

    def discard(self, key):
        """The key left without the policy."""
        self.pop(key, None)
        self.left = [gone for gone in self.left if gone != key]

    def taken(self):
        """What left since the last time."""
        left, self.left = self.left, []
        return left
