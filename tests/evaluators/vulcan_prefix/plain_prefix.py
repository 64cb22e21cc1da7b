"""The modelled server in plain Python, around any tree: a slow one of its own, or the `RadixCache` of SGLang."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from vulcan_prefix.simulate import SERVER, stretch
from vulcan_serving.server import Server
from vulcan_traces.prompts import PromptTrace


class Tree(Protocol):
    """What the server needs of a tree; sizes are in blocks."""

    def match(self, now: float, blocks: list[int]) -> tuple[int, Any]: ...

    def insert(self, now: float, blocks: list[int], inserted: int, request: int) -> tuple[int, Any]:
        """Return how many of the blocks were there, and the last node."""

    def pin(self, node: Any) -> None: ...

    def release(self, node: Any) -> None: ...

    def evictable(self) -> int: ...

    def evict(self, now: float, blocks: int, free: int) -> int:
        """Evict leaves of so many blocks at least, where so many are free; return how many left."""


def serve(
    trace: PromptTrace,
    tree: Tree,
    capacity: int,
    server: Server = SERVER,
    load: float = 0.0,
    decode_ms: float = 30.0,
) -> tuple[list[int], list[float]]:
    """Serve the trace with `capacity` blocks; return each request's blocks found and time to first token."""
    arrivals = trace.arrivals * stretch(trace, server, load)
    size = trace.block_tokens
    free, free_at = capacity, 0.0
    running: list[tuple[float, int, Any]] = []
    found, waits = [], []

    def seconds(new: int, cached: int) -> float:
        return float(server.prefill_seconds(np.array(new), np.array(cached)))

    def finish() -> None:
        nonlocal free
        running.sort(key=lambda one: one[0])
        time, request, node = running.pop(0)
        full = int(trace.prompt_blocks[request])
        blocks = trace.blocks[trace.starts[request] : trace.starts[request + 1]].tolist()
        there, _ = tree.insert(time, blocks, full, request)
        free += max(there - full, 0)
        free += (trace.prompt_tokens[request] + trace.output_tokens[request]) % size != 0
        tree.release(node)

    for r in range(trace.requests):
        prompt_tokens, output_tokens = int(trace.prompt_tokens[r]), int(trace.output_tokens[r])
        blocks = trace.blocks[trace.starts[r] : trace.starts[r] + trace.prompt_blocks[r]].tolist()
        total = -(-(prompt_tokens + output_tokens) // size)
        now = max(float(arrivals[r]), free_at)
        while running and min(running, key=lambda one: one[0])[0] <= now:
            finish()
        if total > capacity:
            free_at = now + seconds(prompt_tokens, 0)
            found.append(0)
            waits.append(free_at - float(arrivals[r]))
            continue
        matched, node = tree.match(now, blocks[: (prompt_tokens - 1) // size])
        tree.pin(node)
        need = total - matched
        while need > free + tree.evictable():
            now = max(now, min(running, key=lambda one: one[0])[0])
            finish()
        while running and min(running, key=lambda one: one[0])[0] <= now:
            finish()
        if need > free:
            free += tree.evict(now, need - free, free)
        free -= need
        now = free_at = now + seconds(prompt_tokens - matched * size, matched * size)
        found.append(matched)
        waits.append(now - float(arrivals[r]))
        while running and min(running, key=lambda one: one[0])[0] <= now:
            finish()
        there, last = tree.insert(now, blocks, 0, r)
        free += there - matched
        tree.release(node)
        tree.pin(last)
        running.append((now + output_tokens * decode_ms * 1e-3, r, last))
    return found, waits


@dataclass(eq=False)
class Node:
    blocks: list[int]
    parent: Node | None
    accessed: int
    created: int
    hits: int = 0
    priority: int = 0
    locks: int = 0
    released: int = 0
    time: float = 0.0
    children: dict[int, Node] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return len(self.blocks) + (self.parent.depth if self.parent else 0)


Score = Callable[[Node, float], Any]
SCORES: dict[str, Score] = {
    "lru": lambda node, now: node.accessed,
    "lfu": lambda node, now: (node.hits, node.accessed),
    "fifo": lambda node, now: node.created,
    "slru": lambda node, now: (node.hits >= 2, node.accessed),
    "priority": lambda node, now: (node.priority, node.accessed),
    "vllm": lambda node, now: node.released,
}


class PlainTree:
    """A radix tree of lists, walked block by block; every count is taken afresh."""

    def __init__(self, trace: PromptTrace, score: Score, trims: bool = False) -> None:
        self.trace, self.score, self.trims = trace, score, trims
        self.clock = 0
        self.root = Node([], None, 0, 0)
        self.evicted: list[list[int]] = []

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def nodes(self) -> list[Node]:
        found, left = [], list(self.root.children.values())
        while left:
            node = left.pop()
            found.append(node)
            left += node.children.values()
        return found

    def walk(self, blocks: list[int], now: float, visit: Callable[[Node, int], None]) -> tuple[int, Node]:
        stamp = self.tick()
        node, done = self.root, 0
        while done < len(blocks) and blocks[done] in node.children:
            child = node.children[blocks[done]]
            child.accessed, child.time = stamp, now
            same = 0
            while same < min(len(child.blocks), len(blocks) - done) and child.blocks[same] == blocks[done + same]:
                same += 1
            part = same < len(child.blocks)
            if part:
                upper = Node(child.blocks[:same], node, self.tick(), self.clock, child.hits, child.priority)
                upper.locks, upper.released, upper.time = child.locks, child.released, now
                upper.children[child.blocks[same]] = child
                node.children[blocks[done]] = upper
                child.blocks, child.parent = child.blocks[same:], upper
                child = upper
            node = child
            done += same
            visit(node, done)
            if part:
                break
        return done, node

    def match(self, now: float, blocks: list[int]) -> tuple[int, Node]:
        return self.walk(blocks, now, lambda node, done: None)

    def insert(self, now: float, blocks: list[int], inserted: int, request: int) -> tuple[int, Node]:
        priority = int(self.trace.priorities[request])

        def visit(node: Node, done: int) -> None:
            node.priority = max(node.priority, priority)
            node.hits += done > inserted

        done, node = self.walk(blocks, now, visit)
        if done < len(blocks):
            leaf = Node(blocks[done:], node, self.tick(), self.clock, 1, priority, released=self.clock, time=now)
            node.children[blocks[done]] = leaf
            node = leaf
        return done, node

    def pin(self, node: Node) -> None:
        while node.parent is not None:
            node.locks += 1
            node = node.parent

    def release(self, node: Node) -> None:
        while node.parent is not None:
            node.locks -= 1
            if not node.locks:
                node.released = self.tick()
            node = node.parent

    def evictable(self) -> int:
        return sum(len(node.blocks) for node in self.nodes() if not node.locks)

    def evict(self, now: float, blocks: int, free: int) -> int:
        freed = 0
        while freed < blocks:
            leaves = [node for node in self.nodes() if not node.locks and not node.children]
            node = min(leaves, key=lambda one: self.score(one, now))
            count = min(len(node.blocks), blocks - freed) if self.trims else len(node.blocks)
            self.evicted.append(node.blocks[len(node.blocks) - count :])
            freed += count
            if count < len(node.blocks):
                del node.blocks[len(node.blocks) - count :]
            else:
                del node.parent.children[node.blocks[0]]  # type: ignore[union-attr]
        return freed
