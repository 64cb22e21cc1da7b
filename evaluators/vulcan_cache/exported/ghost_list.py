"""The objects that left a cache most recently."""


class _GhostList:
    """The objects evicted most recently, as many as the cache held: the argument `ghost`.

    An object that comes back stays listed until later ones push it out.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._left: dict[object, tuple[float, float, float]] = {}  # departures before, count, time; oldest first
        self._departures = 0.0
        self._oldest = 1.0
        self._fields: dict[object, tuple[float, ...]] = {}  # with state

    def contains(self, identity: object) -> float:
        return 1.0 if identity in self._left else 0.0

    def count(self, identity: object) -> float:
        left = self._left.get(identity)
        return 0.0 if left is None else left[1]

    def age(self, identity: object) -> float:
        left = self._left.get(identity)
        return 0.0 if left is None else self.now - left[2]

    def remember(self, identity: object, count: float, held: float) -> None:
        """The object, requested so often, leaves a cache that holds so many objects."""
        self._left.pop(identity, None)
        self._departures += 1.0
        self._left[identity] = (self._departures, count, self.now)
        self._oldest = max(self._oldest, self._departures + 1.0 - held)
        while self._left:
            first = next(iter(self._left))
            if self._left[first][0] >= self._oldest:
                break
            del self._left[first]
            self._fields.pop(first, None)  # with state

    def fields(self, identity: object) -> "tuple[float, ...] | None":  # with state
        """The fields that a remembered object left with."""
        return self._fields.get(identity)

    def keep(self, identity: object, fields: "tuple[float, ...]") -> None:  # with state
        """The object leaves with these fields, and is remembered or not."""
        if identity in self._left:
            self._fields[identity] = fields
