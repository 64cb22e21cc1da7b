"""Slow reference of LIRS."""

from __future__ import annotations

from slow_policy import Policy


class Lirs(Policy):
    def start(self):
        self.stack: list[int] = []  # from the bottom to the top
        self.queue: list[int] = []
        self.evicted: list[int] = []  # the objects of the stack that are not resident, first evicted first
        self.lir: set[int] = set()
        self.size: dict[int, int] = {}
        self.lir_capacity = self.capacity - max(1, self.capacity // 100)

    def _bytes(self, group):
        return sum(self.size[obj] for obj in group)

    def _prune(self):
        while self.stack and self.stack[0] not in self.lir:
            self.stack.pop(0)
        self.evicted = [obj for obj in self.evicted if obj in self.stack]

    def _demote(self):
        obj = self.stack.pop(0)
        self.lir.remove(obj)
        self.queue.append(obj)
        self._prune()

    def _place(self, obj, becomes_lir):
        if obj in self.stack:
            self.stack.remove(obj)
        if obj in self.evicted:
            self.evicted.remove(obj)
        self.stack.append(obj)
        if becomes_lir:
            self.lir.add(obj)
            while self._bytes(self.lir) > self.lir_capacity:
                self._demote()
        else:
            self.queue.append(obj)
        self._prune()
        while self._bytes(self.stack) > 2 * self.capacity and self.evicted:
            self.stack.remove(self.evicted.pop(0))

    def hit(self, request):
        obj = request.obj
        if obj in self.lir:
            self.stack.remove(obj)
            self.stack.append(obj)
            self._prune()
            return
        self.queue.remove(obj)
        self._place(obj, obj in self.stack and self.size[obj] <= self.lir_capacity)

    def victim(self, request):
        if not self.queue:
            self._demote()
        victim = self.queue.pop(0)
        if victim in self.stack:
            self.evicted.append(victim)
        return victim

    def insert(self, request):
        obj, size = request.obj, request.size
        room = self._bytes(self.lir) + size <= self.lir_capacity
        self.size[obj] = size
        self._place(obj, room or (obj in self.stack and size <= self.lir_capacity))
