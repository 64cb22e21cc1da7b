"""Rings of objects, and what is known of those that left a cache of queues."""

_NO_LIST, _FIRST_LIST, _LISTS = 0, 1, 2  # with state


class _Left:
    """What is known of an object in the ghost list."""

    __slots__ = ("count", "identity", "newer", "older", "size", "time")
    __slots__ += ("number", "obj")  # with state

    def __init__(self, identity: object, size: float, count: float, time: float) -> None:
        self.identity = identity
        self.size = size
        self.count = count
        self.time = time
        self.newer = self.older = None


class _Ring:
    """A queue: what is newer than the ring itself is its tail, what is older is its head."""

    def __init__(self) -> None:
        self.newer = self.older = self

    def add(self, node) -> None:
        """Put it at the head."""
        node.newer, node.older = self, self.older
        self.older.newer = node
        self.older = node

    @staticmethod
    def remove(node) -> None:
        node.newer.older = node.older
        node.older.newer = node.newer
        node.newer = node.older = None


class _Ghost:
    """The objects that left or were not let in, as far as their share reaches: the argument `ghost`."""

    def __init__(self) -> None:
        self.now = 0.0
        self._known: dict[object, _Left] = {}
        self._ring = _Ring()
        self._used = 0.0

    def contains(self, identity: object) -> float:
        return 1.0 if identity in self._known else 0.0

    def count(self, identity: object) -> float:
        left = self._known.get(identity)
        return 0.0 if left is None else left.count

    def age(self, identity: object) -> float:
        left = self._known.get(identity)
        return 0.0 if left is None else self.now - left.time

    def take(self, identity: object) -> None:
        """The object is back: it takes no room in the list any more, and is known until it is forgotten."""
        left = self._known.get(identity)
        if left is not None:
            self._used -= left.size
            self._ring.remove(left)

    def forget(self, identity: object) -> None:
        """Of an object that was taken."""
        self._known.pop(identity, None)

    def remember(self, identity: object, size: float, count: float, limit: float) -> None:
        if size > limit:
            return
        while self._used + size > limit:
            left = self._ring.newer
            self._used -= left.size
            self._ring.remove(left)
            del self._known[left.identity]
        left = self._known[identity] = _Left(identity, size, count, self.now)
        self._ring.add(left)
        self._used += size


class _GhostLists(_Ghost):  # with state
    """Two ghost lists, of objects with their fields: the arguments `ghost` and `ghosts`.

    `number` is that of the list on which objects are put, 0 for none.
    """

    def __init__(self, state, queues) -> None:
        super().__init__()
        self.used_1 = self.used_2 = 0.0
        self.number = _FIRST_LIST
        self._state = state
        self._queues = queues
        self._rings = {number: _Ring() for number in range(_FIRST_LIST, _LISTS + 1)}

    def fields(self, identity: object) -> "tuple[float, ...] | None":
        """The fields that a remembered object left with."""
        left = self._known.get(identity)
        return None if left is None else left.obj.fields()

    def keep(self, obj) -> None:
        """The object has left as it is now, and is remembered or not."""
        left = self._known.get(obj.id)
        if left is not None:
            left.obj = obj.listed()

    def used(self, number: int) -> float:
        return self.used_1 if number == _FIRST_LIST else self.used_2

    def grow(self, number: int, size: float) -> None:
        if number == _FIRST_LIST:
            self.used_1 += size
        else:
            self.used_2 += size

    def take(self, identity: object) -> None:
        left = self._known.get(identity)
        if left is not None:
            self.grow(left.number, -left.size)
            _Ring.remove(left)

    def forget_oldest(self, number: int) -> None:
        """Push the object off that has been on the list for the longest time."""
        left = self._rings[number].newer
        self._state.on_forget(self.now, left.obj, self._queues)
        self.grow(number, -left.size)
        _Ring.remove(left)
        del self._known[left.identity]

    def remember(self, identity: object, size: float, count: float, limit: float) -> None:
        number = self.number
        if number == _NO_LIST or size > limit:
            return
        while self.used(number) + size > limit:
            self.forget_oldest(number)
        left = self._known[identity] = _Left(identity, size, count, self.now)
        left.number = number
        self._rings[number].add(left)
        self.grow(number, size)
