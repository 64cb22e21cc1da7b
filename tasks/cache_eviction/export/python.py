"""How a policy of the mechanisms `sample` and `heap` is used at run time: the class `Cache`.

The exporter puts what stands below the marked line into the exported modules of these policies, without what another
mechanism needs, or a function that the policy does not define. It writes the policy in place of the stand-ins above.
With these stand-ins (first in, first out; all are let in) the file works as it is.
"""

import math

from vulcan.export.stand_ins import _Entity, _Statistics
from vulcan_cache.exported.ghost_list import _GhostList
from vulcan_cache.exported.ranked_cache import _RankedCache
from vulcan_cache.exported.ranked_objects import _Heap, _Sample

SAMPLE_SIZE = 16
SAMPLE_SEED = 1
_USES = frozenset({"obj.insertion"})


def priority(now: float, obj: "_Object", cache: "_State", ghost: "_GhostList") -> float:
    return obj.insertion


def admit(now: float, obj: "_Object", cache: "_State", victim: "_Victim", ghost: "_GhostList") -> float:
    return 1.0


def recheck(now: float, obj: "_Object", cache: "_State", ghost: "_GhostList") -> float:
    return 0.0


# --- exported modules have the policy above this line ---


class _Object(_Entity):
    """What the policy sees of an object in the cache, or one that may be let in: the argument `obj`."""

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


class _Victim:  # with admit
    """What the policy sees of the object that would leave first: the argument `victim`."""

    __slots__ = ("count", "insertion", "last_access", "priority", "size")

    def __init__(self) -> None:
        self.show(None)

    def show(self, obj: "_Object | None") -> None:
        """All is 0 where no object would have to leave."""
        self.size = obj.size if obj else 0.0
        self.count = obj.count if obj else 0.0
        self.last_access = obj.last_access if obj else 0.0
        self.insertion = obj.insertion if obj else 0.0
        self.priority = obj.priority if obj else 0.0


class _Policy:
    """What the policy answers about objects, and all that it sees."""

    numbered = "obj.id" in _USES
    asks_ghost = any(use.startswith("ghost.") for use in _USES)
    asks_ghost = True  # with fields
    asks_ghost = True  # with on_ghost_hit

    def __init__(self, capacity: float) -> None:
        self.now = 0.0
        self.state = _State(capacity)
        self.ghost = _GhostList()
        self.victim = _Victim()  # with admit

    def priority(self, obj: _Object) -> float:
        return min(max(priority(self.now, obj, self.state, self.ghost), -1e300), 1e300)

    def recheck(self, obj: _Object) -> float:  # with recheck
        return recheck(self.now, obj, self.state, self.ghost)

    def new(self, key: object, identity, size: float) -> _Object:
        return _Object(key, identity, size, self.now)

    def admits(self, obj: _Object, victim: "_Object | None") -> bool:  # with admit
        """Whether the object, in whose place the victim would leave, is let in; else the ghost list remembers it."""
        self.victim.show(victim)
        if admit(self.now, obj, self.state, self.victim, self.ghost) > 0.0:
            return True
        self.state.on_refuse(self.now, obj, self.ghost)  # with on_refuse
        if self.asks_ghost:
            room = self.state.objects + math.floor((self.state.capacity - self.state.used) / obj.size)
            self.ghost.remember(obj.id, self.ghost.count(obj.id) + 1.0, room)
        self.ghost.keep(obj.id, obj.fields())  # with state
        return False

    def enter(self, obj: _Object) -> None:  # with statistics
        self.state.enter(self.now, obj)  # without admit
        self.state.enter(self.now, obj, self.victim)  # with admit

    def update(self, obj: _Object) -> None:  # with statistics
        self.state.update(self.now, obj)  # without admit
        self.state.update(self.now, obj, self.victim)  # with admit


def _sampled(policy, sample_size=SAMPLE_SIZE, sample_seed=SAMPLE_SEED):  # with sample
    if sample_size < 1:
        raise ValueError(f"sample_size must be 1 or more, not {sample_size!r}")
    return _Sample(policy, sample_size, sample_seed)


_MECHANISM = _sampled  # with sample
_MECHANISM = _Heap  # with heap


class Cache(_RankedCache):
    """A cache of limited size; what is let in and what is evicted is the policy's decision. Used like a dictionary.

    `capacity` is in bytes, or whatever unit sizes are in. An object is scored when it is requested, and the one with
    the lowest priority leaves; or, if the policy's mechanism is `sample`, `sample_size` objects drawn at random are
    scored at an eviction, and the lowest of them leaves (the same `sample_seed` gives the same draws; both may be given
    besides).
    `getsizeof(value)` gives the size of a value that is stored without one; without it, that size is 1. A size of 0
    counts as 1. What is larger than the cache, or what the policy does not admit, is not stored (it is bypassed), which
    is not an error.

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

    def __init__(self, capacity, *, getsizeof=None, **draw):
        super().__init__(capacity, _Policy(float(capacity)), _MECHANISM, draw, getsizeof)
        self.seed(draw.get("sample_seed", SAMPLE_SEED))  # with state
