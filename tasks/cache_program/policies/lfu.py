"""Least frequently used, of equals the least recently: a heap in which entries that are out of date are passed over."""

import heapq


class Policy:
    def __init__(self, capacity):
        self.entry = {}
        self.heap = []

    def on_hit(self, request):
        count, _, _ = self.entry[request.id]
        self.put((count + 1, request.time, request.id))

    def on_miss(self, request):
        self.put((1, request.time, request.id))

    def put(self, entry):
        self.entry[entry[2]] = entry
        heapq.heappush(self.heap, entry)
        if len(self.heap) > 4 * len(self.entry) + 64:
            self.heap = sorted(self.entry.values())

    def evict(self, request):
        while True:
            entry = heapq.heappop(self.heap)
            if self.entry.get(entry[2]) is entry:
                del self.entry[entry[2]]
                return entry[2]
