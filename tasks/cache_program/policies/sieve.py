"""SIEVE (Zhang et al., NSDI 2024): a hand walks from old to new and evicts the first object not requested since."""


class Node:
    __slots__ = ("id", "newer", "older", "visited")

    def __init__(self, id):
        self.id = id
        self.newer = None
        self.older = None
        self.visited = False


class Policy:
    def __init__(self, capacity):
        self.nodes = {}
        self.oldest = None
        self.newest = None
        self.hand = None

    def on_hit(self, request):
        self.nodes[request.id].visited = True

    def on_miss(self, request):
        node = Node(request.id)
        self.nodes[request.id] = node
        node.older = self.newest
        if self.newest is None:
            self.oldest = node
        else:
            self.newest.newer = node
        self.newest = node

    def evict(self, request):
        node = self.hand or self.oldest
        while node.visited:
            node.visited = False
            node = node.newer or self.oldest
        self.hand = node.newer
        self.unlink(node)
        del self.nodes[node.id]
        return node.id

    def unlink(self, node):
        if node.older is None:
            self.oldest = node.newer
        else:
            node.older.newer = node.newer
        if node.newer is None:
            self.newest = node.older
        else:
            node.newer.older = node.older
