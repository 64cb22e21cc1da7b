"""How a cache-eviction policy is used at run time: the class `Cache`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (first in, first out) the file works as it is.
"""

from vulcan_cache.exported.ghost_list import _GhostList
from vulcan_cache.exported.ranked_cache import _RankedCache

MECHANISM = "sample"
SAMPLE_SIZE = 16
SAMPLE_SEED = 1
_USES = frozenset({"obj.insertion"})


def priority(now: float, obj: "_Object", cache: "_State", ghost: "_GhostList") -> float:
    return obj.insertion


class _Entity:
    __slots__ = ()

    def fields(self) -> tuple[float, ...]:
        """The fields, to be kept as long as the entity is remembered."""
        return ()

    def resume(self, fields: tuple[float, ...]) -> None:
        """The entity is back: it has the fields that it left with."""


class _Statistics:
    def enter(self, now: float, obj: "_Object") -> None:
        """The entity, a new object, has entered."""

    def update(self, now: float, obj: "_Object") -> None:
        """The entity was touched."""

    def leave(self, obj: "_Object") -> None:
        """The entity leaves."""

    def seed(self, seed: int) -> None:
        """Start the random numbers, with a whole number."""

    def on_hit(self, now: float, obj: "_Object", ghost: "_GhostList") -> None:
        """See the task's event."""

    def on_ghost_hit(self, now: float, obj: "_Object", ghost: "_GhostList") -> None:
        """See the task's event."""

    def on_miss(self, now: float, obj: "_Object", ghost: "_GhostList") -> None:
        """See the task's event."""

    def on_evict(self, now: float, obj: "_Object", ghost: "_GhostList") -> None:
        """See the task's event."""

    def on_insert(self, now: float, obj: "_Object", ghost: "_GhostList") -> None:
        """See the task's event."""


# --- exported modules have the policy above this line ---


class _Object(_Entity):
    """What the policy sees of an object in the cache: the argument `obj`."""

    __slots__ = ("count", "id", "insertion", "key", "last_access", "place", "priority", "size", "touch")

    def __init__(self, key: object, identity, size: float, now: float) -> None:
        super().__init__()
        self.key = key
        self.id = identity  # a number where the policy computes with it, else the key
        self.size = size
        self.count = 1.0
        self.last_access = now
        self.insertion = now
        self.place = -1  # where the mechanism keeps it
        self.priority = 0.0
        self.touch = 0


class _State(_Statistics):
    """What the policy sees of the whole cache: the argument `cache`."""

    def __init__(self, capacity: float) -> None:
        super().__init__()
        self.used = 0.0
        self.capacity = capacity
        self.objects = 0.0
        self.evicted_priority = 0.0


class _Policy:
    """What the policy answers about objects, and all that it sees."""

    numbered = "obj.id" in _USES
    asks_ghost = any(use.startswith("ghost.") for use in _USES)
    asks_ghost = True  # with state

    def __init__(self, capacity: float) -> None:
        self.now = 0.0
        self.state = _State(capacity)
        self.ghost = _GhostList()

    def priority(self, obj: _Object) -> float:
        return min(max(priority(self.now, obj, self.state, self.ghost), -1e300), 1e300)

    def new(self, key: object, identity, size: float) -> _Object:
        return _Object(key, identity, size, self.now)

    def admits(self, obj: _Object, victim: "_Object | None") -> bool:
        """Whether the object, in whose place the victim would leave, is let in."""
        return True

    def enter(self, obj: _Object) -> None:
        self.state.enter(self.now, obj)

    def update(self, obj: _Object) -> None:
        self.state.update(self.now, obj)


class Cache(_RankedCache):
    """A cache of limited size whose evictions the policy decides; used like a dictionary.

    `capacity` is in bytes, or whatever unit sizes are in. `mechanism` says how the policy's priorities are used:
    `sample` (`sample_size` objects drawn at random are scored at an eviction, the lowest leaves; the same
    `sample_seed` gives the same draws) or `heap` (an object is scored when it is requested, the lowest leaves). By
    default it is what the policy was searched with: a policy may be good under one and bad under the other.
    `getsizeof(value)` gives the size of a value that is stored without one; without it, that size is 1. A size of 0
    counts as 1. What is larger than the cache is not stored (it is bypassed), which is not an error.

    Time is counted in requests, as in the simulator. These are requests:

    * a look-up, `cache[key]` or `cache.get(key)`, whether it hits or misses;
    * storing a value, `cache[key] = value` or `cache.put(key, value)`; but storing under a key whose look-up missed
      before completes that look-up, and both are one request. (The last 1,024 missed keys are remembered for it.)
    * `cache.request(key, size)`, which is both at once: what a simulator does.

    So a read-through cache (get; on a miss fetch the value and put it) evicts exactly what the simulator evicts on
    the same sequence of keys, and so does a loop over `request`. Nothing else is a request: `in`, `len`, iteration,
    `keys`, `values`, `items`, `pop` and `del` tell the policy nothing of use. An object keeps the size it was stored
    with until it is stored anew.

    Memory is bounded by what the cache holds, except that a policy that computes with `obj.id` needs to number keys
    in order of their first appearance, and so to remember every key there ever was.

    It has what a `MutableMapping` has (`collections.abc.MutableMapping.register(Cache)` makes that known). It is not
    safe to use from several threads without a lock of one's own.
    """

    def __init__(
        self,
        capacity,
        *,
        mechanism=MECHANISM,
        sample_size=SAMPLE_SIZE,
        sample_seed=SAMPLE_SEED,
        getsizeof=None,
    ):
        super().__init__(capacity, _Policy(float(capacity)), mechanism, sample_size, sample_seed, getsizeof)
