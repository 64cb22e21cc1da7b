"""How a library is used at run time: the class `SelectingCache`.

`vulcan library export` puts what stands below the marked line into the modules that it writes, and the library in place
of the stand-ins above it. With these (one baseline and no member) the file works as it is.
"""

import math

CLASS = "Cache"
FIRST = 100_000
BASELINE = "unbounded"


def hash_of(key: object) -> int:
    return hash(key) & 0xFFFFFFFF


class OnlineFingerprint:
    def __init__(self, capacity, first):
        self.requests = 0

    def observe(self, key, size=1):
        self.requests += 1

    def features(self):
        return {}


class Decision:
    name = BASELINE
    confidence = 0.0
    ranked = ()


class Table:
    def decide(self, fingerprint):
        return Decision()


TABLE = Table()


class _Unbounded(dict):
    def __init__(self, capacity, getsizeof=None):
        super().__init__()
        self.bypassed = 0

    def request(self, key, size=1):
        hit = key in self
        self[key] = None
        return hit

    def put(self, key, value, size=None):
        self[key] = value


POLICIES = {BASELINE: lambda: _Unbounded}


# --- exported modules have the library above this line ---


_LEADERS_OBJECTS = 512
_LEADERS_SHARE = 1 / 32
_CHECK_EVERY = 256
_FORGET_EVERY = 8192
_SURE = 3.0
_WORTH = 0.01


class _Duel:
    """Which of a few policies misses least on the leader sets: the objects whose hash falls into a share of all.

    Each policy manages the leader sets in a cache of its own, of that share of the capacity and without values, and all
    see the same requests (set dueling: Qureshi et al., ISCA 2007; with a directory for each policy, as in their SBAR,
    ISCA 2006). So policies are compared request by request: by those that one missed and the other hit.
    """

    def __init__(self, capacity, held):
        self.share = min(1.0, max(_LEADERS_SHARE, _LEADERS_OBJECTS / max(1, held)))
        self._capacity = max(1, int(capacity * self.share))
        self._below = self.share * 2**32
        self._leaders = {}
        self._alone = {}  # by policy and other policy: requests that the first missed and the other hit, fading
        self._misses = {}
        self._seen = 0
        self._warm_at = 0

    def fight(self, names):
        """These policies from now on; those that are new start with nothing, and are given time to fill."""
        self._leaders = {
            name: self._leaders.get(name) or POLICIES[name]()(self._capacity) for name in dict.fromkeys(names)
        }
        self._alone = {(one, other): 0.0 for one in self._leaders for other in self._leaders if one != other}
        self._misses = dict.fromkeys(self._leaders, 0.0)
        self._warm_at = self._seen + _FORGET_EVERY

    @property
    def names(self):
        return list(self._leaders)

    def request(self, key, size):
        """Which policies missed, by name; None for what is not in the leader sets."""
        if (hash_of(key) * 0x9E3779B1 & 0xFFFFFFFF) >= self._below:
            return None
        missed = {name: not cache.request(key, size) for name, cache in self._leaders.items()}
        self._seen += 1
        for name, miss in missed.items():
            if miss:
                self._misses[name] += 1.0
                for other, its in missed.items():
                    if not its:
                        self._alone[name, other] += 1.0
        if self._seen % _FORGET_EVERY == 0:
            for counts in (self._alone, self._misses):
                for name in counts:
                    counts[name] /= 2.0
        return missed

    def due(self):
        return self._seen % _CHECK_EVERY == 0 and self._seen >= self._warm_at

    def better(self, used):
        """The policy that is surely better than the one used (McNemar's test, 3 deviations), or None."""
        best, most = None, 0.0
        for name in self._leaders:
            if name == used or used not in self._leaders:
                continue
            lost, won = self._alone[used, name], self._alone[name, used]
            gain = lost - won
            if gain > max(_SURE * math.sqrt(lost + won), _WORTH * self._misses[used]) and gain > most:
                best, most = name, gain
        return best


class SelectingCache:
    """A cache of limited size that chooses the policy of its evictions by what it sees; used like a dictionary.

    It begins with the baseline. After the first `window` requests, and again after every `rest` more windows, the
    library's rule is asked about the fingerprint of a window (`decision`); it remembers at most 8,192 objects for that.
    With `duel`, the two members that it expects most of then fight with the baseline on leader sets, and what misses
    least there is used. Without, the member that it names is used at once.

    With `duel` it is never much worse than the baseline. Let N be the requests, K the most objects it held when it left
    the baseline, and r the share of the objects in the leader sets. What the policies in use miss more than it does is
    counted on the leader sets and scaled by 1 / r, and 2 K are added each time that the baseline is left: what other
    contents can cost when it is left and when it is gone back to (at most K for LRU: Reineke and Grund, Sensitivity of
    Cache Replacement Policies, ACM TECS 2013). Where the sum exceeds `tolerance` N + 2 K, the baseline is gone back to.
    So there are at most

        tolerance * N + 2 * K + 1 / r

    misses more than with the baseline alone, and the error of the sample: about 3 sqrt(D / r), where D is the sum, over
    all objects, of the squared difference of the misses that an object has under the two policies.

    The leader sets hold max(512, objects / 32) keys for each of the three policies, and no values. `capacity`,
    `getsizeof`, `hits`, `misses`, `bypassed` and what counts as a request are those of the class that
    `vulcan export --format python` writes for one policy. Not safe for several threads without a lock of one's own.
    """

    def __init__(self, capacity, *, getsizeof=None, duel=True, window=FIRST, rest=3, tolerance=0.01):
        if window < 1 or rest < 0 or not 0 <= tolerance <= 1:
            raise ValueError(f"window {window!r}, rest {rest!r} or tolerance {tolerance!r} is out of range")
        self.hits = 0
        """Requests that found their key."""
        self.misses = 0
        """Requests that did not."""
        self.policy = BASELINE
        """The name of the policy in use."""
        self.decision = None
        """What the rule said of the latest window: `name`, `confidence` and `ranked`; None before the first."""
        self.switches = 0
        """How often another policy came into use."""
        self.excess = 0.0
        """The misses more than the baseline's that the leader sets speak for, with what changes may have cost."""
        self._capacity = capacity
        self._getsizeof = getsizeof
        self._duels = duel
        self._window = window
        self._rest = rest
        self._tolerance = tolerance
        self._cache = self._new(BASELINE)
        self._bypassed = 0
        self._seen = 0
        self._held = 0  # the most objects at a change
        self._fingerprint = OnlineFingerprint(capacity, window)
        self._next_window = 0
        self._duel = None

    @property
    def allowed(self):
        """What `excess` may come to; see above."""
        return self._tolerance * self._seen + 2 * self._held

    @property
    def maxsize(self):
        """The capacity."""
        return self._capacity

    @property
    def currsize(self):
        """The size of all that is stored."""
        return self._cache.currsize

    @property
    def bypassed(self):
        """Times that something was not stored because it is larger than the cache."""
        return self._bypassed + self._cache.bypassed

    def getsizeof(self, value):
        """The size of a value that is stored without one."""
        return 1 if self._getsizeof is None else self._getsizeof(value)

    # Requests

    def request(self, key, size=1):
        """One request: True for a hit; on a miss the key is stored, without a value, and the answer is False."""
        hit = self._cache.request(key, size)
        self._count(hit)
        self._observe(key, size)
        return hit

    def __getitem__(self, key):
        """The value of the key. Raises KeyError where it is not stored."""
        found = key in self._cache
        self._count(found)
        value = self._cache[key]
        self._observe(key, self._size_of(key))
        return value

    def get(self, key, default=None):
        """The value of the key, or the default where it is not stored."""
        try:
            return self[key]
        except KeyError:
            return default

    def put(self, key, value, size=None):
        """Store the value; its size is `getsizeof(value)` where none is given. Raises ValueError for a bad size."""
        size = self.getsizeof(value) if size is None else size
        before = self._cache.hits, self._cache.misses
        self._cache.put(key, value, size)
        self.hits += self._cache.hits - before[0]
        self.misses += self._cache.misses - before[1]
        self._observe(key, size)

    def __setitem__(self, key, value):
        """Store the value; its size is `getsizeof(value)`."""
        self.put(key, value)

    # What is no request

    def pop(self, key, *default):
        """Remove the key and give its value, or the default. Raises KeyError where there is neither."""
        return self._cache.pop(key, *default)

    def __delitem__(self, key):
        """Remove the key. Raises KeyError where it is not stored."""
        self._cache.pop(key)

    def __contains__(self, key):
        return key in self._cache

    def __len__(self):
        return len(self._cache)

    def __iter__(self):
        return iter(self._cache)

    def keys(self):
        """The keys; a view that holds until the policy changes."""
        return self._cache.keys()

    def values(self):
        """The values; a view that holds until the policy changes."""
        return self._cache.values()

    def items(self):
        """The keys with their values; a view that holds until the policy changes."""
        return self._cache.items()

    def __repr__(self):
        return (
            f"<SelectingCache of {len(self)} objects by {self.policy}, {self.currsize} of {self.maxsize}, "
            f"{self.hits} hits, {self.misses} misses>"
        )

    # Inside

    def _new(self, name):
        return POLICIES[name]()(self._capacity, getsizeof=self._getsizeof)

    def _count(self, hit):
        if hit:
            self.hits += 1
        else:
            self.misses += 1

    def _size_of(self, key):
        return self._cache._objects[key].size

    def _observe(self, key, size):
        size = max(1, int(size))
        self._seen += 1
        if self._fingerprint is not None:
            self._fingerprint.observe(key, size)
            if self._fingerprint.requests >= self._window:
                self._decide()
        elif self._seen >= self._next_window:
            self._fingerprint = OnlineFingerprint(self._capacity, self._window)
        if self._duel is not None:
            missed = self._duel.request(key, size)
            if missed is not None:
                self._settle(missed)

    def _decide(self):
        """A window is over: ask the rule."""
        self.decision = TABLE.decide(self._fingerprint.features())
        self._fingerprint = None
        self._next_window = self._seen + self._rest * self._window
        if not self._duels:
            self._use(self.decision.name)
            return
        members = [name for name, _ in self.decision.ranked if name != BASELINE and name in POLICIES]
        if self.policy != BASELINE:
            members = [self.policy, *(name for name in members if name != self.policy)]
        wanted = [*members[:2], BASELINE]
        if len(wanted) == 1:
            return
        if self._duel is None:
            self._duel = _Duel(self._capacity, len(self._cache))
        if set(wanted) != set(self._duel.names):
            self._duel.fight(wanted)

    def _settle(self, missed):
        """The leader sets had a request: keep the account, and change the policy if that is called for."""
        if self.policy != BASELINE:
            self.excess += (missed[self.policy] - missed[BASELINE]) / self._duel.share
        if self.policy != BASELINE and self.excess > self.allowed:
            self._use(BASELINE)
        elif self._duel.due():
            better = self._duel.better(self.policy)
            if better is None:
                return
            if self.policy == BASELINE:
                held = max(self._held, len(self._cache))
                if self.excess + 2 * len(self._cache) > self._tolerance * self._seen + 2 * held:
                    return
                self._held = held
                self.excess += 2 * len(self._cache)
            self._use(better)

    def _use(self, name):
        """Go on with another policy and what is stored; the objects are told to it in the order of their latest use."""
        if name == self.policy:
            return
        before, after = self._cache, self._new(name)
        self._bypassed += before.bypassed
        stored = sorted(before._objects.values(), key=lambda obj: obj.last_access)
        for obj in stored:
            after.put(obj.key, before._values[obj.key], obj.size)
        self._cache = after
        self.policy = name
        self.switches += 1
