"""A cache that follows the best of several policies."""

from vulcan_cache.exported.directories import _DirectoriesCache, _directory


class _FollowingCache(_DirectoriesCache):
    """A cache of limited size that follows the best of several policies, as `_DirectoriesCache` says.

    Another one is followed as soon as it has missed less since the beginning, by at least `evidence` misses and by all
    that it holds and the cache lacks, the most that the change can cost: so a change costs no more than has been lost
    already. Of several the one that has missed the least is followed. What is counted are requests, with `by_bytes`
    their bytes; then `evidence` counts requests of mean size.
    """

    def __init__(self, capacity, policies, *, by_bytes=False, evidence=32.0, getsizeof=None):
        if not policies or not evidence >= 0:
            raise ValueError(f"there are {len(policies)} policies to follow, with an evidence of {evidence!r}")
        super().__init__(capacity, [_directory(policy)(capacity) for policy in policies], getsizeof)
        self.lost = [0.0] * len(policies)
        """What each policy has missed: requests, or bytes."""
        self._by_bytes = by_bytes
        self._evidence = evidence
        self._asked = 0.0
        self._requests = 0

    @property
    def followed(self):
        """The number of the policy that is followed."""
        return self._followed

    def seed(self, seed):
        """Start the policies' random numbers with a whole number; they start with those of the search."""
        for policy in self._policies:
            policy.seed(seed)

    def _weight(self, size):
        return float(size) if self._by_bytes else 1.0

    def _decide(self, missed, size, is_hit):
        """Count what is missed, and choose whom to follow."""
        weight = self._weight(size)
        self._asked += weight
        self._requests += 1
        for which, is_missed in enumerate(missed):
            self.lost[which] += weight * is_missed
        best = now = self._followed
        least = self._evidence * self._asked / self._requests
        for which, lost in enumerate(self.lost):
            if self.lost[now] - lost >= max(least, self._lacks[which].total) and lost < self.lost[best]:
                best = which
        if best != now:
            self._follow(best)
