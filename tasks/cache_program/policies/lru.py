"""Least recently used."""

from collections import OrderedDict


class Policy:
    def __init__(self, capacity):
        self.order = OrderedDict()

    def on_hit(self, request):
        self.order.move_to_end(request.id)

    def on_miss(self, request):
        self.order[request.id] = None

    def evict(self, request):
        return self.order.popitem(last=False)[0]
