"""How a policy for prefix caches is used at run time: the class `PrefixPolicy`.

The exporter puts what stands below the marked line into every exported module of this task, and writes the policy in
place of the stand-ins above it. With these stand-ins (least recently used) the file works as it is.
"""

from vulcan.export.stand_ins import _Entity, _Statistics

_USES = frozenset({"node.last_access"})


def priority(now: float, node: "_Node", server: "_Server") -> float:
    return node.last_access


# --- exported modules have the policy above this line ---


class _Node(_Entity):
    """What the policy sees of a node of the tree: the argument `node`."""

    def __init__(self, identity: float, now: float) -> None:
        super().__init__()
        self.id = identity
        self.tokens = self.depth = self.hits = self.turn = 1.0
        self.last_access = self.created = self.last_hit = now
        self.gap = self.priority = self.siblings = self.kind = self.children = self.ended = 0.0


class _Server(_Statistics):
    """What the policy sees of the server and its cache: the argument `server`."""

    def __init__(self) -> None:
        super().__init__()
        self.capacity = 1.0
        self.used = self.needed = self.leaves = self.running = self.waiting = self.evicted_priority = 0.0


class PrefixPolicy:
    """The policy, and what it remembers of nodes.

    A cache keeps a `node` of `new` for each node of its tree, sets its attributes (the features of the task) and those
    of `server`, and calls `inserted`, `hit` and `evicted` when that happens. When it needs room it evicts the leaf with
    the lowest `priority`. Times are seconds since the cache was empty.
    """

    def __init__(self) -> None:
        self.server = _Server()

    def seed(self, seed: int) -> None:  # with state
        """Start the policy's random numbers with a whole number; they start with that of the search."""
        self.server.seed(seed)

    def new(self, identity: float, now: float) -> _Node:
        """A node that has just been made."""
        return _Node(float(identity), now)

    def inserted(self, node: _Node, now: float) -> None:
        """The node is in the tree, its attributes set."""
        self.server.enter(now, node)
        self.server.on_insert(now, node)  # with state

    def hit(self, node: _Node, now: float) -> None:
        """A request went through the node, whose attributes count it."""
        node.gap, node.last_hit = now - node.last_hit, now
        self.server.update(now, node)
        self.server.on_hit(now, node)  # with state

    def evicted(self, node: _Node, now: float, priority: float) -> None:
        """The node is about to leave, with the priority that it had."""
        self.server.on_evict(now, node)  # with state
        self.server.leave(node)
        self.server.evicted_priority = priority

    def priority(self, node: _Node, now: float) -> float:
        """The node's priority to stay; the leaf with the lowest is evicted."""
        return min(max(priority(now, node, self.server), -1e300), 1e300)
