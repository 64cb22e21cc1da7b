"""A cache that follows a policy as long as it loses little to a safe one."""

from vulcan_cache.exported.directories import _DirectoriesCache, _directory

_POLICY, _SAFE = 0, 1
_EVIDENCE = 32.0


class _GuardedCache(_DirectoriesCache):
    """A cache of limited size that a policy manages, guarded by a safe policy, as `_DirectoriesCache` says.

    It begins with the policy, and until it first leaves it, it has everything that the policy would have alone.

    In any `n` consecutive requests it misses at most

        tolerance * n + allowance * K

    requests more than the safe policy would have missed, run alone from the start; K is the most objects that the safe
    policy has held so far. `behind` counts the misses more than those of the safe policy, less `tolerance` a request
    and never below 0. The safe policy is followed as soon as `behind` and the number of objects that it holds and the
    cache lacks, the most that the change can still cost, would together exceed `allowance * K`. The policy is followed
    again when it has since missed fewer requests, by at least the number of objects that it holds and the cache lacks.

    The bound assumes that each key keeps its size, and that nothing is removed except by requests. Further arguments
    are those of the policy's own class.
    """

    def __init__(self, capacity, policy, safe, *, tolerance=0.01, allowance=1.0, getsizeof=None, **how):
        if not 0 <= tolerance <= 1 or not allowance >= 0:
            raise ValueError(f"tolerance {tolerance!r} or allowance {allowance!r} is out of range")
        super().__init__(capacity, (_directory(policy)(capacity, **how), _directory(safe)(capacity)), getsizeof)
        self.behind = 0.0
        """Misses more than those of the safe policy, less `tolerance` a request; never below 0."""
        self.safe_misses = 0
        """Requests that the safe policy would have missed."""
        self._tolerance = tolerance
        self._allowance = allowance
        self._gain = 0.0
        self._most_held = 0

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

    def _decide(self, missed, size, is_hit):
        """Keep the account, and choose whom to follow."""
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

    def _follow(self, which):
        self._gain = 0.0
        super()._follow(which)

    def _gives_way(self, victim):
        costs_more = victim in self._policies[_SAFE]
        gives_way = (
            self._followed == _POLICY and costs_more and self.behind + len(self._lacks[_SAFE]) + 1 > self.allowed
        )
        if gives_way:
            self._follow(_SAFE)
        return gives_way
