"""S3-FIFO (Yang et al., SOSP 2023): a small queue filters what enters the main one; ghosts remember the rejected."""

from collections import OrderedDict, deque

SMALL_SHARE = 0.1
GHOST_SHARE = 0.9
PROMOTED_FROM = 2
MAX_COUNTED = 3


class Policy:
    def __init__(self, capacity):
        self.small_capacity = int(capacity * SMALL_SHARE)
        self.main_capacity = capacity - self.small_capacity
        self.ghost_capacity = int(capacity * GHOST_SHARE)
        self.small = deque()
        self.main = deque()
        self.ghosts = OrderedDict()
        self.size = {}
        self.count = {}
        self.small_used = 0
        self.main_used = 0
        self.ghost_used = 0
        self.filling = True
        self.asked_at = -1
        self.known = False

    def on_hit(self, request):
        self.count[request.id] = min(self.count[request.id] + 1, MAX_COUNTED)

    def look_up(self, request):
        """Whether the object is remembered; asked once a request, for it is forgotten by that."""
        if self.asked_at != request.time:
            self.asked_at = request.time
            size = self.ghosts.pop(request.id, None)
            self.known = size is not None
            if self.known:
                self.ghost_used -= size

    def on_miss(self, request):
        self.look_up(request)
        self.count[request.id] = 0
        self.size[request.id] = request.size
        if self.known or (self.filling and self.small_used >= self.small_capacity):
            self.main.append(request.id)
            self.main_used += request.size
        else:
            self.small.append(request.id)
            self.small_used += request.size

    def evict(self, request):
        self.look_up(request)
        self.filling = False
        while True:
            if self.main and (self.main_used > self.main_capacity or not self.small):
                return self.leave_main()
            while self.small:
                leaving = self.small.popleft()
                size = self.size[leaving]
                self.small_used -= size
                if self.count[leaving] >= PROMOTED_FROM:
                    self.count[leaving] = 0
                    self.main.append(leaving)
                    self.main_used += size
                else:
                    self.remember(leaving, size)
                    return self.forget(leaving)

    def leave_main(self):
        while True:
            leaving = self.main.popleft()
            if self.count[leaving] > 0:
                self.count[leaving] -= 1
                self.main.append(leaving)
            else:
                self.main_used -= self.size[leaving]
                return self.forget(leaving)

    def remember(self, leaving, size):
        if size <= self.ghost_capacity:
            while self.ghost_used + size > self.ghost_capacity:
                self.ghost_used -= self.ghosts.popitem(last=False)[1]
            self.ghosts[leaving] = size
            self.ghost_used += size

    def forget(self, leaving):
        del self.count[leaving]
        del self.size[leaving]
        return leaving
