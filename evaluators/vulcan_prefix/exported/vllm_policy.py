"""A policy as a cache policy of vLLM's offload to host memory: the class `PolicyCachePolicy`."""

import heapq
import math
import time

import vllm.v1.kv_offload.cpu.policies.base

from vulcan_prefix.exported.stand_ins import PrefixPolicy

# --- exported modules have the policy above this line ---


class _Span:
    """A node of the tree of chunks: its keys follow those of the node above; `seen` is what the policy sees of it."""

    def __init__(self, above, keys, seen=None):
        self.above, self.keys, self.seen = above, keys, seen
        self.children = self.stamp = 0


class _Chains:
    """What a request has used, by group of layers: chunks from the prompt's beginning on, and how many are counted."""

    def __init__(self, owner):
        self.owner, self.keys, self.counted = owner, {}, {}


class PolicyCachePolicy(vllm.v1.kv_offload.cpu.policies.base.CachePolicy):
    """A cache policy of vLLM that evicts as the policy does under the mechanism `blocks`.

    vLLM shows which chunks a request uses, and where each ends. A key stands for all tokens up to its chunk's end, so
    chunks are a tree of prefixes. A `node` is a run of them, and leaves lose theirs from the end. A request counts as
    a hit when it first stores a chunk, or ends. What is being copied stays, and so does what stands in front of it.
    """

    def __init__(self, cache_capacity):
        super().__init__(cache_capacity)
        self._start = time.monotonic()
        self.clear()

    def clear(self):
        """Forget all chunks."""
        self.policy = PrefixPolicy()
        self._root = _Span(None, [])
        self._chunks, self._spans = {}, {}
        self._leaves = {}  # the keys are a set in order
        self._tokens = self._made = self._clock = 0
        self._new = self._of = None  # the node that chunks are being put into, and the request and group they are of
        self._asking = _Chains(None)

    def get(self, key):
        """The chunk, if it is here."""
        return self._chunks.get(key)

    def insert(self, key, chunk, req_context):
        """A chunk is given room."""
        chains, group = self._chains(req_context), key[-4:]
        if self._of != (chains, group):
            self._settle()
            self._of = chains, group
            self._count(chains, group)
            chain = chains.keys.get(group, [key])
            first = chain.index(key)
            self._new = _Span(self._spans.get(chain[first - 1], self._root) if first else self._root, [])
            self._tokens = math.gcd(self._tokens, req_context.get_offload_key_position(key) or 1)
            self.policy.server.capacity = float(self.cache_capacity * self._tokens)
        self._new.keys.append(key)
        self._chunks[key] = chunk

    def remove(self, key):
        """A chunk could not be stored."""
        self._settle()
        del self._chunks[key]
        span = self._spans.pop(key)
        span.keys.remove(key)
        if not span.keys:
            self._drop(span, self._now(), self.policy.server.evicted_priority)
        self._show(span)

    def touch(self, keys, req_context):
        """Chunks are used."""
        self.on_request_access(keys, req_context)

    def on_store_miss(self, keys, req_context):
        """Nothing is remembered of chunks that are not here."""

    def on_request_access(self, keys, req_context):
        """A request uses chunks for the first time."""
        self._settle()
        chains = self._asking = self._chains(req_context)
        for key in keys:
            chains.keys.setdefault(key[-4:], []).append(key)
        for group in {key[-4:] for key in keys}:
            self._walk(chains.keys[group], math.inf)

    def on_request_finished(self, key_groups, insertion_only_keys, reused_keys, req_context):
        """A request has ended."""
        self._settle()
        chains = self._chains(req_context)
        for group in chains.keys:
            self._count(chains, group)
        self._asking = _Chains(None)

    def evict(self, n, protected):
        """Take out n chunks; None where so many cannot leave. Those of the request that asks stay."""
        self._settle()
        protected = protected.union(*self._asking.keys.values())
        if not self._can_free(n, protected):
            return None
        now, server = self._now(), self.policy.server
        leaves = [span for span in self._leaves if self._is_free(span.keys[-1], protected)]
        server.used, server.needed = float(len(self._chunks) * self._tokens), float(n * self._tokens)
        server.leaves = float(len(leaves))
        heap = [self._ranked(span, now) for span in leaves]
        heapq.heapify(heap)
        evicted = []
        while len(evicted) < n:
            priority, *_, span = heapq.heappop(heap)
            while span.keys and len(evicted) < n and self._is_free(span.keys[-1], protected):
                key = span.keys.pop()
                del self._spans[key]
                evicted.append((key, self._chunks.pop(key)))
            if span.keys:
                self._show(span)
                server.evicted_priority = priority
                continue
            self._drop(span, now, priority)
            above = span.above
            is_next = above in self._leaves and self._is_free(above.keys[-1], protected)
            server.used, server.leaves = float(len(self._chunks) * self._tokens), float(len(heap) + is_next)
            if is_next:
                heapq.heappush(heap, self._ranked(above, now))
        return evicted

    def _can_free(self, n, protected):
        free, left, ready = 0, {}, list(self._leaves)
        for span in ready:  # which grows
            for key in reversed(span.keys):
                if free >= n or not self._is_free(key, protected):
                    break
                free += 1
            else:
                left[span.above] = left.get(span.above, span.above.children) - 1
                if not left[span.above] and span.above is not self._root:
                    ready.append(span.above)
            if free >= n:
                break
        return free >= n

    def _is_free(self, key, protected):
        return self._chunks[key].ref_cnt == 0 and key not in protected

    def _ranked(self, span, now):
        self._siblings(span)
        return (self.policy.priority(span.seen, now), span.stamp, span.seen.id, span)

    def _now(self):
        return time.monotonic() - self._start

    def _chains(self, req_context):
        found = req_context.get_state(_Chains)
        if found is None or found.owner is not self.policy:
            found = _Chains(self.policy)
            req_context.set_state(found)
        return found

    def _count(self, chains, group):
        """Count a request as a hit of the nodes that it has not been counted for."""
        chain = chains.keys.get(group, [])
        self._walk(chain, chains.counted.get(group, 0))
        chains.counted[group] = len(chain)

    def _walk(self, chain, counted):
        """Touch the nodes of a chain, of which the last may be divided; those that end behind `counted` are hit."""
        now, done = self._now(), 0
        self._clock += 1
        stamp = self._clock
        while done < len(chain) and chain[done] in self._spans:
            span = self._spans[chain[done]]
            end = span.keys.index(chain[done])
            while end < len(span.keys) and done < len(chain) and span.keys[end] == chain[done]:
                end, done = end + 1, done + 1
            span.seen.last_access, span.stamp = now, stamp
            if end < len(span.keys):
                span = self._divided(span, end, now)
            if done > counted:
                span.seen.hits += 1.0
                self._siblings(span)
                self.policy.hit(span.seen, now)

    def _divided(self, lower, count, now):
        """Make the first chunks of a node one of their own, above it."""
        upper = self._made_of(_Span(lower.above, lower.keys[:count]), now)
        lower.above, lower.keys = upper, lower.keys[count:]
        seen, below = upper.seen, lower.seen
        seen.hits, seen.gap, seen.last_hit = below.hits, below.gap, below.last_hit
        seen.children, upper.children = 1.0, 1
        self._show(lower)
        self.policy.inserted(seen, now)
        return upper

    def _settle(self):
        """Have the chunks that were stored together known as a node."""
        span, self._new, self._of = self._new, None, None
        if span is not None:
            now, above = self._now(), span.above
            above.children += 1
            if above is not self._root:
                above.seen.children += 1.0
            self._leaves.pop(above, None)
            self._leaves[span] = None
            self.policy.inserted(self._made_of(span, now).seen, now)

    def _made_of(self, span, now):
        self._made += 1
        self._clock += 1
        span.seen, span.stamp = self.policy.new(self._made, now), self._clock
        self._spans.update(dict.fromkeys(span.keys, span))
        self._show(span)
        self._siblings(span)
        return span

    def _show(self, span):
        span.seen.tokens = float(len(span.keys) * self._tokens)
        span.seen.depth = span.seen.tokens + (0.0 if span.above is self._root else span.above.seen.depth)

    def _siblings(self, span):
        span.seen.siblings = float(span.above.children - 1)

    def _drop(self, span, now, priority):
        self._siblings(span)
        self.policy.evicted(span.seen, now, priority)
        while span is not self._root and not span.keys and not span.children:
            self._leaves.pop(span, None)
            span = span.above
            span.children -= 1
            if span is not self._root and span.keys and not span.children:
                self._leaves[span] = None
