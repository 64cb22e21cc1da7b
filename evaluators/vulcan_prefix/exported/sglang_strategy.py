"""A policy as an eviction strategy of SGLang: the class `PolicyStrategy`."""

import time

import sglang.srt.arg_groups.choices
import sglang.srt.mem_cache.evict_policy
import sglang.srt.mem_cache.radix_cache
import sglang.srt.mem_cache.utils

from vulcan_prefix.exported.stand_ins import _USES, PrefixPolicy, _Entity, _Statistics

# --- exported modules have the policy above this line ---


_OF_THE_CACHE = frozenset(
    {"node.gap", "server.evicted_priority", "server.needed", "server.used", "server.capacity", "server.leaves"}
)
_OF_REQUESTS = frozenset({"node.turn", "node.kind"})


class PolicyStrategy(sglang.srt.mem_cache.evict_policy.EvictionStrategy):
    """An eviction strategy of SGLang that decides as the policy does.

    `register()` makes it known as `--radix-eviction-policy vulcan`. SGLang asks for the priority of every evictable
    leaf whenever it needs room, and evicts the lowest, as the simulator does.

    SGLang's nodes carry what most policies read: tokens, depth, hits, times, priority, siblings. What else a policy
    reads comes from the cache that it is attached to: the time between hits, statistics, events, and the cache's own
    numbers. `register()` attaches it to each `RadixCache`. `UnifiedRadixCache` has no place for it, and there a policy
    that needs one raises RuntimeError.

    SGLang's cache does not know these, so give them if the policy reads them:

    * `describe(node)`, which returns the turn and the kind (a number) of the request that last used a tree node;
    * `load()`, which returns how many requests run and how many wait.
    """

    is_of_vulcan = True
    needs_cache = bool(_OF_THE_CACHE & _USES) or bool(_Entity.__slots__) or "__init__" in vars(_Statistics)
    needs_cache = True  # with state

    def __init__(self, describe=None, load=None):
        if describe is None and _OF_REQUESTS & _USES:
            raise ValueError("the policy reads the turn or the kind of requests: give describe")
        self.policy = PrefixPolicy()
        self._describe = describe
        self._load = load
        self._cache = None
        self._capacity = 0.0
        self._start = time.monotonic()

    def get_priority(self, node):
        """The priority of a leaf; of equal ones the longest unused is evicted first."""
        if self.needs_cache and self._cache is None:
            raise RuntimeError("the policy needs events of the cache, and is attached to none: see PolicyStrategy")
        now = self._now()
        seen = self._seen(node, now)
        self._show(node, seen, len(node.parent.children) - 1)
        self._show_cache()
        found = node.vulcan_priority = self.policy.priority(seen, now)
        return (found, node.last_access_time)

    def attach(self, cache):
        """Observe a `RadixCache`: its hits, new nodes and evictions."""
        self._cache = cache
        self._capacity = 0.0
        if cache.token_to_kv_pool_allocator is not None:
            self._capacity = float(cache.token_to_kv_pool_allocator.available_size())
        self.policy.server.capacity = max(1.0, self._capacity)
        count, split, delete, evict = cache._inc_hit_count, cache._split_node, cache._delete_leaf, cache.evict

        def counted(node):
            count(node)
            now = self._now()
            is_new = not hasattr(node, "vulcan_node")
            seen = self._seen(node, now)
            # a new node is counted before it is among its parent's children
            self._show(node, seen, len(node.parent.children) - (not is_new))
            if is_new:
                self.policy.inserted(seen, now)
            else:
                self.policy.hit(seen, now)

        def divided(key, child, length):
            upper = split(key, child, length)
            now = self._now()
            lower, seen = self._seen(child, now), self._seen(upper, now)
            seen.gap, seen.last_hit, seen.turn, seen.kind = lower.gap, lower.last_hit, lower.turn, lower.kind
            self._show(upper, seen, len(upper.parent.children) - 1)
            self.policy.inserted(seen, now)
            return upper

        def deleted(node):
            now = self._now()
            seen = self._seen(node, now)
            self._show(node, seen, len(node.parent.children) - 1)
            self._show_cache(len(node.key))  # SGLang frees its tokens before
            self.policy.evicted(seen, now, getattr(node, "vulcan_priority", 0.0))
            delete(node)

        def asked(params):
            self.policy.server.needed = float(params.num_tokens)
            if self._load is not None:
                running, waiting = self._load()
                self.policy.server.running, self.policy.server.waiting = float(running), float(waiting)
            done = evict(params)
            self._show_cache()
            return done

        cache._inc_hit_count, cache._split_node, cache._delete_leaf, cache.evict = counted, divided, deleted, asked

    def _now(self):
        return time.monotonic() - self._start

    def _seen(self, node, now):
        seen = getattr(node, "vulcan_node", None)
        if seen is None:
            seen = node.vulcan_node = self.policy.new(node.id, now)
            above, depth = node, 0
            while above is not None:
                depth += len(above.key)
                above = above.parent
            seen.depth = float(depth)
        return seen

    def _show(self, node, seen, siblings):
        seen.tokens = float(len(node.key))
        seen.hits = float(max(1, node.hit_count))
        seen.last_access = node.last_access_time - self._start
        seen.created = node.creation_time - self._start
        seen.priority = float(node.priority)
        seen.siblings = float(max(0, siblings))
        if self._describe is not None:
            turn, kind = self._describe(node)
            seen.turn, seen.kind = float(turn), float(kind)

    def _show_cache(self, freed=0):
        if self._cache is not None:
            server = self.policy.server
            server.leaves = float(len(self._cache.evictable_leaves))
            allocator = self._cache.token_to_kv_pool_allocator
            if allocator is not None:
                server.used = self._capacity - allocator.available_size() + freed


def register(name="vulcan", **given):
    """Make the policy known to SGLang as `--radix-eviction-policy NAME`; `given` is what `PolicyStrategy` takes."""
    factories = sglang.srt.mem_cache.utils._EVICTION_POLICY_FACTORIES
    if name not in factories:
        sglang.srt.arg_groups.choices.add_radix_eviction_policy_choices([name])
    factories[name] = lambda: PolicyStrategy(**given)
    cache_class = sglang.srt.mem_cache.radix_cache.RadixCache
    if not getattr(cache_class, "vulcan_attaches", False):
        reset = cache_class.reset

        def reset_and_attach(cache):
            reset(cache)
            strategy = cache.eviction_strategy
            if getattr(strategy, "is_of_vulcan", False) and strategy._cache is not cache:
                strategy.attach(cache)

        cache_class.reset, cache_class.vulcan_attaches = reset_and_attach, True
