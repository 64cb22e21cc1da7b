"""How a policy of queues is used at run time: the class `Cache`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (first in, first out) the file works as it is.
"""

import math

from vulcan.export.stand_ins import _Entity, _Statistics
from vulcan_cache.exported.listed_ghosts import _FIRST_LIST, _LISTS, _NO_LIST, _Ghost, _GhostLists, _Ring
from vulcan_cache.exported.mapping import _CacheMapping

_USES = frozenset()


def insert(now: float, obj: "_Object", cache: "_State", queues: "_Queues", ghost: "_Ghost") -> float:
    return 1.0


def hit(now: float, obj: "_Object", cache: "_State", queues: "_Queues") -> float:
    return 0.0


def tail(now: float, obj: "_Object", cache: "_State", queues: "_Queues") -> float:
    return -1.0


def keep(now: float, obj: "_Object", cache: "_State", queues: "_Queues") -> float:
    return 0.0


def share(queue: float, cache: "_State", queues: "_Queues") -> float:
    return cache.capacity


# --- exported modules have the policy above this line ---


_NUMBERS = (1, 2, 3, 4)
_IN_GHOST = 5
_FORGET = -1
_MOVES_A_REQUEST = 4
_MOST_KEPT = 2.0**20
_LAST_ASKED = 4.0  # the queue whose share is asked for last
_SEED = 1  # with state
_REFUSE = -1  # with state
_SHOWS_TAILS = any(use.startswith("tails.") for use in _USES)  # with state
_SHOWS_IDS = any(use.startswith("tails.id_") for use in _USES)  # with state


class _Object(_Entity):
    """What the policy sees of an object: the argument `obj`."""

    __slots__ = ("count", "hits", "id", "insertion", "key", "last_access", "newer", "older", "queue", "size")

    def __init__(self, key: object, identity, size: float, now: float) -> None:
        super().__init__()
        self.key = key
        self.id = identity  # a number where the policy computes with it, else the key
        self.size = size
        self.count = 1.0
        self.hits = 0.0
        self.queue = 0.0
        self.last_access = now
        self.insertion = now
        self.newer = self.older = None  # its neighbours in the queue

    def listed(self):  # with state
        """The object as it is in the ghost list: without statistics."""
        obj = _Object(None, self.id, self.size, self.insertion)
        obj.count, obj.hits, obj.last_access = self.count, self.hits, self.last_access
        obj.queue = float(_IN_GHOST)
        obj.resume(self.fields())
        return obj


class _State(_Statistics):
    """What the policy sees of the whole cache: the argument `cache`."""

    def __init__(self, capacity: float) -> None:
        super().__init__()
        self.used = 0.0
        self.capacity = capacity
        self.objects = 0.0
        self.evictions = 0.0


class _Queues:
    """What the policy sees of the queues: the argument `queues`; and the objects in them."""

    def __init__(self) -> None:
        self.used_1 = self.used_2 = self.used_3 = self.used_4 = 0.0
        self.objects_1 = self.objects_2 = self.objects_3 = self.objects_4 = 0.0
        self.rings = {number: _Ring() for number in _NUMBERS}

    def used(self, number: int) -> float:
        return (self.used_1, self.used_2, self.used_3, self.used_4)[number - 1]

    def objects(self, number: int) -> float:
        return (self.objects_1, self.objects_2, self.objects_3, self.objects_4)[number - 1]

    def put(self, obj: _Object, number: int) -> None:
        """Put the object at the head."""
        obj.queue = float(number)
        self.rings[number].add(obj)
        self.grow(number, obj.size, 1.0)

    def take(self, obj: _Object) -> None:
        _Ring.remove(obj)
        self.grow(int(obj.queue), -obj.size, -1.0)

    def grow(self, number: int, size: float, objects: float) -> None:
        if number == 1:
            self.used_1 += size
            self.objects_1 += objects
        elif number == 2:
            self.used_2 += size
            self.objects_2 += objects
        elif number == 3:
            self.used_3 += size
            self.objects_3 += objects
        else:
            self.used_4 += size
            self.objects_4 += objects


class _Tails:  # with state
    """What the policy sees of the objects at the tails: the argument `tails`."""

    def __init__(self, queues: _Queues) -> None:
        self._rings = queues.rings
        self.show(0.0)

    def show(self, now: float) -> None:
        """Look at them now."""
        for number, ring in self._rings.items():
            oldest = ring.newer
            is_empty = oldest is ring
            setattr(self, f"id_{number}", -1.0 if is_empty else oldest.id)
            setattr(self, f"size_{number}", 0.0 if is_empty else oldest.size)
            setattr(self, f"last_access_{number}", now if is_empty else oldest.last_access)


class _Room:  # with state
    """What the policy sets when room is to be made: the argument `room`."""

    def __init__(self) -> None:
        self.queue = self.list = 0.0


def _whole(answer: float, low: float) -> int:
    """The nearest whole number within bounds."""
    return math.floor(min(max(answer, low), 4.0) + 0.5)


class Cache(_CacheMapping):
    """A cache of up to four FIFO queues; what is let in, moved and evicted is the policy's decision.

    It is used like a dictionary. `capacity` is in bytes, or whatever unit sizes are in. `getsizeof(value)` gives the
    size of a value that is stored without one; without it, that size is 1. A size of 0 counts as 1. What is larger than
    the cache, or what the policy does not let in, is not stored (it is bypassed), which is not an error.

    Time is counted in requests, as in the simulator. These are requests:

    * a look-up, `cache[key]` or `cache.get(key)`, whether it hits or misses;
    * storing a value, `cache[key] = value` or `cache.put(key, value)`; but storing under a key whose look-up missed
      before completes that look-up, and both are one request. (The last 1,024 missed keys are remembered for it.)
    * `cache.request(key, size)`, which is both at once: what a simulator does.

    So a read-through cache (get; on a miss fetch the value and put it) evicts exactly what the simulator evicts on
    the same sequence of keys, and so does a loop over `request`. Nothing else is a request: `in`, `len`, iteration,
    `keys`, `values`, `items`, `pop` and `del` tell the policy nothing of use. An object keeps the size it was stored
    with until it is stored anew. A hit may make the policy evict objects, the one that was hit among them.

    Memory is bounded by what the cache holds and the ghost list's share, except that a policy that computes with
    `obj.id` needs to number keys in order of their first appearance, and so to remember every key there ever was.

    It has what a `MutableMapping` has (`collections.abc.MutableMapping.register(Cache)` makes that known). It is not
    safe to use from several threads without a lock of one's own.
    """

    def __init__(self, capacity, *, getsizeof=None):
        super().__init__(capacity, _State(float(capacity)), "obj.id" in _USES, getsizeof)
        self._now = 0.0
        self._queues = _Queues()
        self._ghost = _Ghost()
        self._moves = 0
        self._numbered = self._numbered or _SHOWS_IDS  # with state
        self._ghost = _GhostLists(self._state, self._queues)  # with state
        self._tails = _Tails(self._queues)  # with state
        self._room = _Room()  # with state
        self._source = 0.0  # with state
        self.seed(_SEED)  # with state

    def _tick(self, now):
        self._now = self._ghost.now = now
        self._moves = min(self._moves + _MOVES_A_REQUEST, _MOVES_A_REQUEST * len(self._objects))

    def _resize(self, obj, size):
        self._queues.grow(int(obj.queue), size - obj.size, 0.0)
        obj.size = size

    def _touch(self, obj):
        obj.hits += 1.0
        self._state.update(self._now, obj, self._queues, _LAST_ASKED)  # without state
        self._state.update(self._now, obj, self._queues, _LAST_ASKED, *self._of_events())  # with state
        self._state.on_hit(self._now, obj, self._queues, self._ghost, self._tails)  # with state
        self._hit(obj)

    def _hit(self, obj):
        to = _whole(hit(self._now, obj, self._state, self._queues), 0.0)
        if to == 0:
            return
        filled = {to} - {int(obj.queue)}
        self._source = obj.queue  # with state
        self._queues.take(obj)
        self._queues.put(obj, to)
        self._state.on_move(self._now, obj, self._queues, self._source)  # with state
        while overfull := [number for number in filled if self._queues.used(number) > self._share(number)]:
            moved = self._look_at_tail(max(overfull), self._share(0))
            if isinstance(moved, int):
                filled.add(moved)

    def _share(self, number):
        return min(max(share(float(number), self._state, self._queues), 0.0), self._state.capacity)

    def _queue_for(self, obj):
        return _whole(insert(self._now, obj, self._state, self._queues, self._ghost), -1.0)

    def _let_in(self, key, value, size):
        obj = _Object(key, self._identity(key), float(size), self._now)
        known = self._ghost.count(obj.id)
        obj.queue = float(_IN_GHOST if self._ghost.contains(obj.id) else 0)
        self._ghost.take(obj.id)
        self._miss(obj)  # with state
        to = self._queue_for(obj)
        if to < 1:
            self._state.on_refuse(self._now, obj, self._queues, self._ghost)  # with state
            self._ghost.forget(obj.id)
            if to != _FORGET:
                self._ghost.remember(obj.id, obj.size, known + 1.0, self._share(0))
            self._ghost.keep(obj)  # with state
            return False
        if not self._make_room(obj, known):  # with state
            return False
        to = max(self._queue_for(obj), 1)  # with state
        if self._state.used + size > self._capacity:  # without state
            while self._state.used + size > self._capacity:
                self._evict()
            to = max(self._queue_for(obj), 1)
        self._ghost.forget(obj.id)
        self._keep(obj, value)
        self._queues.put(obj, to)
        self._state.enter(self._now, obj, self._queues, _LAST_ASKED)  # without state
        self._state.enter(self._now, obj, self._queues, _LAST_ASKED, *self._of_events())  # with state
        self._state.on_insert(self._now, obj, self._queues, self._ghost)  # with state
        return True

    def _miss(self, obj):  # with state
        """The object was missed; it has the fields that it left with, if the ghost list remembers it."""
        if (fields := self._ghost.fields(obj.id)) is not None:
            obj.resume(fields)
            self._state.on_ghost_hit(self._now, obj, self._queues, self._ghost)
        self._state.on_miss(self._now, obj, self._queues, self._ghost)

    def _of_events(self):  # with state
        """What only events show."""
        if _SHOWS_TAILS:
            self._tails.show(self._now)
        return self._tails, self._source, self._ghost, self._room

    def _make_room(self, obj, known):  # with state
        """Have others leave or move until there is room: whether the object is still let in."""
        ghost = self._ghost
        is_let_in, shrinking, remembered = True, 0, 0.0
        while True:
            chosen, ghost.number = self._asked_for_room(obj)
            if chosen == _REFUSE:
                self._state.on_refuse(self._now, obj, self._queues, ghost)
                ghost.forget(obj.id)
                if ghost.number != _NO_LIST:
                    ghost.remember(obj.id, obj.size, known + 1.0, self._share(0))
                ghost.keep(obj)
                is_let_in = False
                break
            if chosen > _NUMBERS[-1] and ghost.used(chosen - _NUMBERS[-1]) > 0.0:
                ghost.forget_oldest(chosen - _NUMBERS[-1])
                continue
            if chosen in _NUMBERS and self._queues.objects(chosen):
                shrinking, remembered = chosen, self._share(0)
            elif self._state.used + obj.size <= self._capacity:
                break
            elif shrinking == 0 or not self._queues.objects(shrinking):
                overfull = [number for number in _NUMBERS if self._queues.used(number) > self._share(number)]
                shrinking = max(overfull) if overfull else min(n for n in _NUMBERS if self._queues.objects(n))
                remembered = self._share(0)
            if not isinstance(self._look_at_tail(shrinking, remembered), int):
                shrinking = 0
        ghost.number = _FIRST_LIST
        return is_let_in

    def _asked_for_room(self, obj):  # with state
        """The queue or ghost list that the policy chooses, and the ghost list for what leaves."""
        room = self._room
        room.queue, room.list = 0.0, float(_FIRST_LIST)
        tails, _, ghosts, _ = self._of_events()
        self._state.on_room(self._now, obj, self._queues, self._ghost, tails, ghosts, room)
        queue = min(max(room.queue, float(_REFUSE)), float(_NUMBERS[-1] + _LISTS))
        number = min(max(room.list, float(_NO_LIST)), float(_LISTS))
        return math.floor(queue + 0.5), math.floor(number + 0.5)

    def _evict(self):
        """Have a queue shrink, and another one where it is empty, until an object has left: its key and value."""
        while True:
            overfull = [number for number in _NUMBERS if self._queues.used(number) > self._share(number)]
            shrinking = max(overfull) if overfull else min(n for n in _NUMBERS if self._queues.objects(n))
            remembered = self._share(0)
            while self._queues.objects(shrinking):
                left = self._look_at_tail(shrinking, remembered)
                if not isinstance(left, int):
                    return left

    def _look_at_tail(self, number, remembered):
        """The queue that the object at the tail moves to, or its key and value where it leaves."""
        obj = self._queues.rings[number].newer
        to = _whole(tail(self._now, obj, self._state, self._queues), -1.0)
        if to > 0 and self._moves > 0:
            self._moves -= 1
            kept = keep(self._now, obj, self._state, self._queues)
            self._queues.take(obj)
            obj.hits = float(math.floor(min(max(kept, 0.0), _MOST_KEPT)))
            self._queues.put(obj, to)
            self._source = float(number)  # with state
            self._state.on_move(self._now, obj, self._queues, self._source)  # with state
            return to
        self._state.on_evict(self._now, obj, self._queues, self._ghost)  # with state
        value = self._remove(obj)
        self._state.evictions += 1.0
        if to != _FORGET:
            self._ghost.remember(obj.id, obj.size, obj.count, remembered)
        self._ghost.keep(obj)  # with state
        return obj.key, value

    def _forget(self, obj):
        self._queues.take(obj)
