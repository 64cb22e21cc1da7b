"""A policy as a cache policy of LMCache: the class `PolicyCachePolicy`."""

import heapq
import time

import lmcache.v1.storage_backend.cache_policy
import lmcache.v1.storage_backend.cache_policy.base_policy

from vulcan_prefix.exported.stand_ins import PrefixPolicy

# --- exported modules have the policy above this line ---


class PolicyCachePolicy(lmcache.v1.storage_backend.cache_policy.base_policy.BaseCachePolicy):
    """A cache policy of LMCache that decides as the policy does, by what LMCache shows it.

    LMCache keeps chunks of tokens, each under its own key, and tells a policy that a key was stored, hit or removed:
    nothing of the tree, of requests or of the server. So a `node` is a chunk of `chunk_tokens` tokens, and every chunk
    can be evicted, not only leaves.

    `register()` makes it known as the cache policy `VULCAN`.
    """

    def __init__(self, chunk_tokens=256):
        self.policy = PrefixPolicy()
        self._nodes = {}
        self._tokens = float(chunk_tokens)
        self._made = 0
        self._start = time.monotonic()

    def init_mutable_mapping(self):
        """The mapping that LMCache keeps chunks in."""
        return {}

    def update_on_put(self, key):
        """A chunk was stored."""
        now = self._now()
        self._made += 1
        node = self._nodes[key] = self.policy.new(self._made, now)
        node.tokens = node.depth = self._tokens
        self.policy.inserted(node, now)

    def update_on_hit(self, key, cache_dict):
        """A chunk was found."""
        node, now = self._nodes.get(key), self._now()
        if node is None:
            self.update_on_put(key)
            return
        node.hits += 1.0
        node.last_access = now
        self.policy.hit(node, now)

    def update_on_force_evict(self, key):
        """A chunk was removed by others."""
        self._drop(key, 0.0)

    def get_evict_candidates(self, cache_dict, num_candidates=1):
        """The chunks with the lowest priorities, of those that may be evicted: as many as were asked for, or fewer."""
        keys = [key for key, chunk in cache_dict.items() if chunk.can_evict]
        for key in keys:
            if key not in self._nodes:
                self.update_on_put(key)
        now, server = self._now(), self.policy.server
        server.needed, server.leaves = num_candidates * self._tokens, float(len(cache_dict))
        ranked = []
        for key in keys:
            node = self._nodes[key]
            ranked.append((self.policy.priority(node, now), node.last_access, node.id, key))
        chosen = heapq.nsmallest(num_candidates, ranked, key=lambda one: one[:3])
        for priority, _, _, key in chosen:
            self._drop(key, priority)
        return [key for *_, key in chosen]

    def _drop(self, key, priority):
        node = self._nodes.pop(key, None)
        if node is not None:
            self.policy.evicted(node, self._now(), priority)

    def _now(self):
        return time.monotonic() - self._start


def register(name="VULCAN"):
    """Make the policy known to LMCache as the cache policy NAME."""
    lmcache.v1.storage_backend.cache_policy.POLICY_MAPPING[name.upper()] = PolicyCachePolicy
