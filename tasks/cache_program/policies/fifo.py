"""First in, first out."""

from collections import deque


class Policy:
    def __init__(self, capacity):
        self.queue = deque()

    def on_miss(self, request):
        self.queue.append(request.id)

    def evict(self, request):
        return self.queue.popleft()
