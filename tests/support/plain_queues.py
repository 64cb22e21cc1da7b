"""The mechanism `queues` in plain Python over the reference interpreter: slow, and simple enough to be seen right."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vulcan.anvil import Policy

NUMBERS = (1, 2, 3, 4)
GHOST = 5
MOVES = 4


@dataclass
class Resident:
    size: int
    count: int
    last_access: int
    insertion: int
    priority: float = 0.0
    hits: float = 0.0
    queue: int = 0


class PlainQueues:
    """On a spatial sample, each object stands for `weight` ones, and `capacity` is that of the whole cache."""

    def __init__(self, policy: Policy, capacity: int, weight: int = 1) -> None:
        self.run = policy.reference()
        self.capacity = capacity
        self.weight = weight
        self.queues: dict[int, list[int]] = {number: [] for number in NUMBERS}  # each from its tail to its head
        self.residents: dict[int, Resident] = {}
        # size, count, time; the first to be forgotten first
        self.lists: dict[int, dict[int, tuple[int, int, int]]] = {1: {}, 2: {}}
        self.left: dict[int, Resident] = {}  # as they were when they left
        self.evictions = 0
        self.moves = 0
        self.now = 0
        self.gone: list[int] = []  # evicted or not let in
        self.bypassed = 0
        self.asked = 4  # the queue whose share was asked for last

    @property
    def ghosts(self) -> dict[int, tuple[int, int, int]]:
        """Of both lists."""
        return self.lists[1] | self.lists[2]

    @property
    def used(self) -> int:
        return sum(self.used_in(number) for number in NUMBERS)

    def used_in(self, number: int) -> int:
        return self.weight * sum(self.residents[key].size for key in self.queues[number])

    def features(self, key: int, obj: Resident, ghost: tuple[int, int, int] | None = None) -> dict[str, float]:
        return {
            **self.of_cache(),
            "now": self.now,
            "queue": self.asked,
            "obj.id": key,
            "obj.size": obj.size,
            "obj.count": obj.count,
            "obj.hits": obj.hits,
            "obj.queue": obj.queue,
            "obj.last_access": obj.last_access,
            "obj.insertion": obj.insertion,
            "ghost.contains": float(ghost is not None),
            "ghost.count": ghost[1] if ghost else 0,
            "ghost.age": self.now - ghost[2] if ghost else 0,
        }

    def of_cache(self) -> dict[str, float]:
        return {
            "cache.used": self.used,
            "cache.capacity": self.capacity,
            "cache.objects": self.weight * len(self.residents),
            "cache.evictions": self.evictions,
            **{f"queues.used_{number}": self.used_in(number) for number in NUMBERS},
            **{f"queues.objects_{number}": self.weight * len(self.queues[number]) for number in NUMBERS},
            **{f"tails.id_{number}": self.queues[number][0] if self.queues[number] else -1 for number in NUMBERS},
            **{f"tails.size_{number}": self.tail_size(number) for number in NUMBERS},
            **{f"tails.last_access_{number}": self.tail_access(number) for number in NUMBERS},
            **{f"ghosts.used_{number}": self.listed(number) for number in (1, 2)},
        }

    def tail_size(self, number: int) -> int:
        return self.residents[self.queues[number][0]].size if self.queues[number] else 0

    def tail_access(self, number: int) -> int:
        return self.residents[self.queues[number][0]].last_access if self.queues[number] else self.now

    def listed(self, number: int) -> int:
        return self.weight * sum(size for size, _, _ in self.lists[number].values())

    def whole(self, function: str, low: int, features: dict[str, float], key: int) -> int:
        return math.floor(min(max(self.run.ask(function, features, key), low), 4) + 0.5)

    def share(self, number: int) -> float:
        asked = {**self.of_cache(), "queue": number}
        return min(max(self.run.ask("share", asked), 0), self.capacity)

    def request(self, now: int, key: int, size: int) -> bool:
        """Whether it was a hit."""
        self.now = now
        self.moves = min(self.moves + MOVES, MOVES * len(self.residents))
        if key in self.residents:
            self.hit(key)
            return True
        if size * self.weight > self.capacity:
            self.bypassed += 1
            return False
        ghost = self.lists[1].pop(key, None) or self.lists[2].pop(key, None)
        obj = Resident(size, 1, now, now, queue=GHOST if ghost else 0)
        if ghost:
            self.run.handle("on_ghost_hit", self.features(key, obj, ghost), key)
        else:
            self.run.release(key)
        self.run.handle("on_miss", self.features(key, obj, ghost), key)
        to = self.whole("insert", -1, self.features(key, obj, ghost), key)
        if to < 1:
            self.refuse(key, obj, ghost, 1 if to == 0 else 0)
            return False
        asks_again = self.make_room(key, obj, ghost)
        if asks_again is None:
            return False
        if asks_again:
            to = max(1, self.whole("insert", -1, self.features(key, obj, ghost), key))
        obj.queue = to
        self.residents[key] = obj
        self.queues[to].append(key)
        self.run.observe(key, self.features(key, obj))
        self.run.handle("on_insert", self.features(key, obj), key)
        return False

    def refuse(self, key: int, obj: Resident, ghost: tuple[int, int, int] | None, number: int) -> None:
        self.bypassed += 1
        self.gone.append(key)
        self.run.handle("on_refuse", self.features(key, obj, ghost), key)
        self.left[key] = obj
        if number > 0:
            self.remember(number, key, obj.size, (ghost[1] if ghost else 0) + 1, self.share(0))

    def hit(self, key: int) -> None:
        obj = self.residents[key]
        obj.count += 1
        obj.hits += 1
        obj.last_access = self.now
        self.run.observe(key, self.features(key, obj))
        self.run.handle("on_hit", self.features(key, obj), key)
        to = self.whole("hit", 0, self.features(key, obj), key)
        if to == 0:
            return
        filled = {to} - {obj.queue}
        self.queues[obj.queue].remove(key)
        self.queues[to].append(key)
        source, obj.queue = obj.queue, to
        self.run.handle("on_move", {**self.features(key, obj), "source": source}, key)
        while True:
            limits = {number: self.share(number) for number in (0, *NUMBERS)}
            overfull = [number for number in filled if self.used_in(number) > limits[number]]
            if not overfull:
                return
            moved = self.look_at_tail(max(overfull), limits[0])
            if moved:
                filled.add(moved)

    def make_room(self, key: int, obj: Resident, ghost: tuple[int, int, int] | None) -> bool | None:
        """Whether `insert` is asked again; None where the new object is not let in after all."""
        handles = any(handler.name == "on_room" for handler in self.run._program.handlers)
        shrinking, asks_again, limits = 0, handles, {0: 0.0}
        while handles or self.used + obj.size * self.weight > self.capacity:
            room = self.run.handle("on_room", self.features(key, obj, ghost), key)
            chosen = math.floor(min(max(room.get("room.queue", 0), -1), 6) + 0.5)
            number = math.floor(min(max(room.get("room.list", 1), 0), 2) + 0.5)
            if chosen == -1:
                self.refuse(key, obj, ghost, number)
                return None
            if chosen > 4 and self.lists[chosen - 4]:
                self.forget_oldest(chosen - 4)
                continue
            if 1 <= chosen <= 4 and self.queues[chosen]:
                shrinking = chosen
                limits = {number: self.share(number) for number in (0, *NUMBERS)}
            elif self.used + obj.size * self.weight <= self.capacity:
                break
            elif not shrinking or not self.queues[shrinking]:
                limits = {number: self.share(number) for number in (0, *NUMBERS)}
                overfull = [number for number in NUMBERS if self.used_in(number) > limits[number]]
                shrinking = max(overfull) if overfull else min(n for n in NUMBERS if self.queues[n])
            asks_again = True
            if not self.look_at_tail(shrinking, limits[0], number):
                shrinking = 0
        return asks_again

    def look_at_tail(self, shrinking: int, remembered: float, number: int = 1) -> int:
        """Where its oldest object moves to, 0 where it leaves."""
        key = self.queues[shrinking][0]
        obj = self.residents[key]
        to = self.whole("tail", -1, self.features(key, obj), key)
        if to > 0 and self.moves > 0:
            self.moves -= 1
            kept = self.run.ask("keep", self.features(key, obj), key)
            obj.hits = math.floor(min(max(kept, 0), 2**20))
            obj.queue = to
            self.queues[shrinking].pop(0)
            self.queues[to].append(key)
            self.run.handle("on_move", {**self.features(key, obj), "source": shrinking}, key)
            return to
        self.run.handle("on_evict", self.features(key, obj), key)
        self.run.forget(key)
        self.left[key] = obj
        self.queues[shrinking].pop(0)
        del self.residents[key]
        self.evictions += self.weight
        self.gone.append(key)
        if to >= 0 and number > 0:
            self.remember(number, key, obj.size, obj.count, remembered)
        return 0

    def remember(self, number: int, key: int, size: int, count: int, limit: float) -> None:
        if size * self.weight > limit:
            return
        while self.listed(number) + self.weight * size > limit:
            self.forget_oldest(number)
        self.lists[number][key] = (size, count, self.now)

    def forget_oldest(self, number: int) -> None:
        forgotten = next(iter(self.lists[number]))
        obj = self.left[forgotten]
        obj.queue = GHOST
        self.run.handle("on_forget", self.features(forgotten, obj), forgotten)
        del self.lists[number][forgotten]
