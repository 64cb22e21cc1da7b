"""A policy in LMCache: `PolicyCachePolicy` in an engine's process, `PolicyEvictionPolicy` in its server."""

import heapq
import threading
import time

import lmcache.v1.distributed.eviction
import lmcache.v1.distributed.internal_api
import lmcache.v1.distributed.storage_controllers.eviction_controller
import lmcache.v1.storage_backend.cache_policy
import lmcache.v1.storage_backend.cache_policy.base_policy

from vulcan_prefix.exported.stand_ins import PrefixPolicy

# --- exported modules have the policy above this line ---


class _Chunks:
    """The chunks that LMCache keeps, each a `node` of `tokens` tokens: it shows keys, nothing of the tree."""

    def __init__(self, tokens):
        self.policy = PrefixPolicy()
        self.nodes = {}
        self._tokens = float(tokens)
        self._made = 0
        self._start = time.monotonic()

    def put(self, key):
        """A chunk was stored."""
        now = self._now()
        self._made += 1
        node = self.nodes[key] = self.policy.new(self._made, now)
        node.tokens = node.depth = self._tokens
        self.policy.inserted(node, now)

    def hit(self, key):
        """A chunk was found."""
        now = self._now()
        node = self.nodes[key]
        node.hits += 1.0
        node.last_access = now
        self.policy.hit(node, now)

    def drop(self, key, priority=0.0):
        """A chunk leaves."""
        node = self.nodes.pop(key, None)
        if node is not None:
            self.policy.evicted(node, self._now(), priority)

    def lowest(self, keys, count, leaves):
        """The keys with the lowest priorities and these: as many as were asked for, or fewer."""
        now, server = self._now(), self.policy.server
        server.needed, server.leaves = count * self._tokens, float(leaves)
        ranked = []
        for key in keys:
            node = self.nodes[key]
            ranked.append((self.policy.priority(node, now), node.last_access, node.id, key))
        return [(key, found) for found, _, _, key in heapq.nsmallest(count, ranked, key=lambda one: one[:3])]

    def _now(self):
        return time.monotonic() - self._start


class PolicyCachePolicy(lmcache.v1.storage_backend.cache_policy.base_policy.BaseCachePolicy):
    """A cache policy of LMCache that decides as the policy does, by what LMCache shows it.

    LMCache keeps chunks of tokens, each under its own key, and tells a policy that a key was stored, hit or removed:
    nothing of the tree, of requests or of the server. So a `node` is a chunk of `chunk_tokens` tokens, and every chunk
    can be evicted, not only leaves.

    `register()` makes it known as the cache policy `VULCAN`.
    """

    def __init__(self, chunk_tokens=256):
        self._known = _Chunks(chunk_tokens)
        self.policy = self._known.policy

    def init_mutable_mapping(self):
        """The mapping that LMCache keeps chunks in."""
        return {}

    def update_on_put(self, key):
        """A chunk was stored."""
        self._known.put(key)

    def update_on_hit(self, key, cache_dict):
        """A chunk was found."""
        (self._known.hit if key in self._known.nodes else self._known.put)(key)

    def update_on_force_evict(self, key):
        """A chunk was removed by others."""
        self._known.drop(key)

    def get_evict_candidates(self, cache_dict, num_candidates=1):
        """The chunks with the lowest priorities, of those that may be evicted: as many as were asked for, or fewer."""
        keys = [key for key, chunk in cache_dict.items() if chunk.can_evict]
        for key in keys:
            if key not in self._known.nodes:
                self._known.put(key)
        chosen = self._known.lowest(keys, num_candidates, len(cache_dict))
        for key, priority in chosen:
            self._known.drop(key, priority)
        return [key for key, _ in chosen]


class PolicyEvictionPolicy(lmcache.v1.distributed.eviction.EvictionPolicy):
    """An eviction policy of LMCache's server, which several engines share, for its memory and what is behind it.

    As for `PolicyCachePolicy`, a `node` is a chunk. Of the chunks of one request the last are told first, as LMCache's
    own policies take them: later ones are of no use without earlier ones. There is no admission in this contract.
    """

    def __init__(self, chunk_tokens=256):
        self._known = _Chunks(chunk_tokens)
        self._lock = threading.Lock()
        self._destinations = []

    def register_eviction_destination(self, destination):
        """Where evicted chunks may go; they go to the first."""
        self._destinations.append(destination)

    def on_keys_created(self, keys):
        """Chunks were stored, or are there again."""
        with self._lock:
            for key in reversed(keys):
                (self._known.hit if key in self._known.nodes else self._known.put)(key)

    def on_keys_touched(self, keys):
        """Chunks were found."""
        with self._lock:
            for key in reversed(keys):
                if key in self._known.nodes:
                    self._known.hit(key)

    def on_keys_removed(self, keys):
        """Chunks are gone."""
        with self._lock:
            for key in keys:
                self._known.drop(key)

    def get_eviction_actions(self, expected_ratio, key_eligible_filter=None, cache_salt=None):
        """What is to leave: that share of all chunks, or fewer where fewer may."""
        with self._lock:
            nodes, internal = self._known.nodes, lmcache.v1.distributed.internal_api
            count = min(max(int(len(nodes) * expected_ratio), expected_ratio > 0), len(nodes))
            keys = [key for key in nodes if key_eligible_filter is None or key_eligible_filter(key)]
            chosen = [key for key, _ in self._known.lowest(keys, count, len(nodes))]
            to = self._destinations[0] if self._destinations else internal.EvictionDestination.DISCARD
            return [internal.EvictionAction(keys=chosen, destination=to)] if chosen else []


def register(name="VULCAN"):
    """Make the policy known to LMCache as the cache policy NAME."""
    lmcache.v1.storage_backend.cache_policy.POLICY_MAPPING[name.upper()] = PolicyCachePolicy


def register_server(instead_of="ARC"):
    """Have LMCache's server use the policy where its options name that policy of its own: they take no other names."""
    controller = lmcache.v1.distributed.storage_controllers.eviction_controller
    create = controller.CreateEvictionPolicy

    def created(config):
        return PolicyEvictionPolicy() if config.eviction_policy == instead_of else create(config)

    controller.CreateEvictionPolicy = created
