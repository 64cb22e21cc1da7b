"""A policy as an eviction strategy of SGLang: the class `PolicyStrategy`."""

import time

import sglang.srt.arg_groups.choices
import sglang.srt.mem_cache.evict_policy
import sglang.srt.mem_cache.radix_cache
import sglang.srt.mem_cache.unified_cache.components
import sglang.srt.mem_cache.unified_cache.components.base
import sglang.srt.mem_cache.unified_cache.components.mamba
import sglang.srt.mem_cache.unified_cache.tree_core_registry
import sglang.srt.mem_cache.unified_cache.unified_tree_core
import sglang.srt.mem_cache.utils

from vulcan_prefix.exported.stand_ins import _USES, PrefixPolicy, _Entity, _Statistics

# --- exported modules have the policy above this line ---


_OF_THE_CACHE = frozenset(
    {
        "node.children",
        "node.gap",
        "server.capacity",
        "server.evicted_priority",
        "server.leaves",
        "server.needed",
        "server.used",
    }
)
_OF_REQUESTS = frozenset({"node.kind", "node.turn"})
_NO_SESSIONS = "the policy reads the end of sessions: use --enable-session-radix-cache, or give describe"


class PolicyStrategy(sglang.srt.mem_cache.evict_policy.EvictionStrategy):
    """An eviction strategy of SGLang that decides as the policy does.

    `register()` makes it known as `--radix-eviction-policy vulcan`. SGLang asks for the priority of every evictable
    leaf whenever it needs room, and evicts the lowest, as the simulator does.

    SGLang's nodes carry what most policies read: tokens, depth, hits, times, priority, siblings. What else a policy
    reads comes from the cache that it is attached to: the time between hits, children, statistics, events, and the
    cache's own numbers. `register()` attaches it to each `RadixCache`, and to each `UnifiedRadixCache` through the tree
    in it; without one, a policy that needs it raises RuntimeError.

    SGLang's cache does not know these, so give them if the policy reads them:

    * `describe(node)`, which returns of the request that last used a tree node the turn, the kind (a number), and
      whether its session has ended. While a request is inserted, it is that one for each node that is hit or made;
    * `load()`, which returns how many requests run and how many wait.

    Without `describe`, a session ends where SGLang closes it, of which it keeps account with
    `--enable-session-radix-cache`: nodes that no other session has used are ended, until they are hit again.
    """

    is_of_vulcan = True
    needs_cache = bool(_OF_THE_CACHE & _USES) or bool(_Entity.__slots__) or "__init__" in vars(_Statistics)
    needs_cache = True  # with state

    def __init__(self, describe=None, load=None):
        if describe is None and _OF_REQUESTS & _USES:
            raise ValueError("the policy reads the turn or the kind: give describe")
        self.policy = PrefixPolicy()
        self._describe = describe
        self._load = load
        self._leaves = None
        self._allocator = None
        self._capacity = 0.0
        self._start = time.monotonic()

    def get_priority(self, node):
        """The priority of a leaf; of equal ones the longest unused is evicted first."""
        if self.needs_cache and self._leaves is None:
            raise RuntimeError("the policy needs events of the cache, and is attached to none: see PolicyStrategy")
        now = self._now()
        seen = self._seen(node, now)
        self._show(node, seen, len(node.parent.children) - 1)
        self._show_cache()
        found = node.vulcan_priority = self.policy.priority(seen, now)
        return (found, node.last_access_time)

    def attach(self, cache):
        """Observe a `RadixCache`: its hits, new nodes and evictions."""
        if "node.ended" in _USES and self._describe is None:
            raise ValueError(_NO_SESSIONS)
        self._allocate(cache.token_to_kv_pool_allocator, lambda: cache.evictable_leaves)
        evict = cache.evict
        cache._inc_hit_count = self._counting(cache._inc_hit_count, is_placed_before=False)
        cache._split_node = self._splitting(cache._split_node, lambda node: node)
        cache._delete_leaf = self._deleting(cache._delete_leaf, is_freed_before=True)

        def asked(params):
            self._ask(params.num_tokens)
            done = evict(params)
            self._show_cache()
            return done

        cache.evict = asked

    def attach_tree(self, core, allocator):
        """Observe the tree of a `UnifiedRadixCache`."""
        if "node.ended" in _USES and self._describe is None and not core.enable_session_radix_cache:
            raise ValueError(_NO_SESSIONS)
        self._allocate(allocator, lambda: core.evictable_device_leaves)
        start = core.evict_device_start
        core._inc_hit_count_and_check = self._counting(core._inc_hit_count_and_check, is_placed_before=True)
        core._split_node = self._splitting(core._split_node, lambda found: found[0])
        core._remove_leaf_from_parent = self._deleting(core._remove_leaf_from_parent, is_freed_before=False)

        def started(component_type, count):
            self._ask(count)
            start(component_type, count)

        core.evict_device_start = started

    def _allocate(self, allocator, leaves):
        self._allocator, self._leaves = allocator, leaves
        self._capacity = 0.0 if allocator is None else float(allocator.available_size())
        self.policy.server.capacity = max(1.0, self._capacity)

    def _counting(self, count, is_placed_before):
        """What is called at each hit, of which a new node's is the first."""

        def counted(node):
            done = count(node)
            now = self._now()
            is_new = not hasattr(node, "vulcan_node")
            seen = self._seen(node, now)
            seen.ended = 0.0
            # a RadixCache counts a new node before it is among its parent's children
            self._show(node, seen, len(node.parent.children) - (is_placed_before or not is_new))
            if is_new:
                above = getattr(node.parent, "vulcan_node", None)
                if above is not None:
                    above.children += 1.0
                self.policy.inserted(seen, now)
            else:
                self.policy.hit(seen, now)
            return done

        return counted

    def _splitting(self, split, upper_of):
        def divided(key, child, length):
            found = split(key, child, length)
            upper = upper_of(found)
            now = self._now()
            lower, seen = self._seen(child, now), self._seen(upper, now)
            seen.gap, seen.last_hit, seen.turn, seen.kind = lower.gap, lower.last_hit, lower.turn, lower.kind
            seen.ended, seen.children = lower.ended, 1.0
            upper.creation_time = now + self._start  # a UnifiedRadixCache copies the lower part's
            self._show_node(upper, seen, len(upper.parent.children) - 1)
            self.policy.inserted(seen, now)
            return found

        return divided

    def _deleting(self, delete, is_freed_before):
        def deleted(node):
            now = self._now()
            seen = self._seen(node, now)
            self._show(node, seen, len(node.parent.children) - 1)
            # a RadixCache has freed the tokens by now; a UnifiedRadixCache has not, but no longer counts the leaf
            if is_freed_before:
                self._show_cache(freed=len(node.key))
            else:
                self._show_cache(leaving=1)
            self.policy.evicted(seen, now, getattr(node, "vulcan_priority", 0.0))
            delete(node)

        return deleted

    def _ask(self, tokens):
        self.policy.server.needed = float(tokens)
        if self._load is not None:
            running, waiting = self._load()
            self.policy.server.running, self.policy.server.waiting = float(running), float(waiting)

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
        self._show_node(node, seen, siblings)
        if self._describe is not None:
            turn, kind, ended = self._describe(node)
            seen.turn, seen.kind, seen.ended = float(turn), float(kind), float(ended)

    def _show_node(self, node, seen, siblings):
        seen.tokens = float(len(node.key))
        seen.hits = float(max(1, node.hit_count))
        seen.last_access = node.last_access_time - self._start
        seen.created = node.creation_time - self._start
        seen.priority = float(node.priority)
        seen.siblings = float(max(0, siblings))

    def _show_cache(self, freed=0, leaving=0):
        if self._leaves is not None:
            server = self.policy.server
            server.leaves = float(len(self._leaves()) + leaving)
            if self._allocator is not None:
                server.used = self._capacity - self._allocator.available_size() + freed


_CLOCKED = (
    sglang.srt.mem_cache.unified_cache.components,
    sglang.srt.mem_cache.unified_cache.components.mamba,
    sglang.srt.mem_cache.unified_cache.unified_tree_core,
)
"""Modules whose nodes SGLang stamps with a counter of accesses."""


def _clock():
    """The time as SGLang's counter gives it, each reading later than the one before: policies need seconds."""
    _clock.last = max(_clock.last + 1e-9, time.monotonic())
    return _clock.last


_clock.last = 0.0


def _wrapped(owner, name, replacement):
    """Replace OWNER.NAME by what REPLACEMENT makes of it, once in a process."""
    known = getattr(owner, name)
    if not hasattr(known, "vulcan_wraps"):
        made = replacement(known)
        made.vulcan_wraps = known
        setattr(owner, name, made)


def _attaching_cache(construct):
    def constructed(cache, params):
        construct(cache, params)
        if getattr(cache.eviction_strategy, "is_of_vulcan", False):
            cache.eviction_strategy.attach(cache)

    return constructed


def _attaching_tree(construct):
    def constructed(core, params, components):
        construct(core, params, components)
        if getattr(core.eviction_strategy, "is_of_vulcan", False):
            core.eviction_strategy.attach_tree(core, params.token_to_kv_pool_allocator)

    return constructed


def _ending(release):
    def released(component, session_id):
        leaves = tuple(component._session_leaves.get(session_id, ()))
        done = release(component, session_id)
        for leaf in leaves:
            _end(component, leaf)
        return done

    return released


def _end(component, node):
    """End the nodes from this one upwards that no open session covers."""
    while hasattr(node, "vulcan_node") and component.session_ref(node) == 0:
        node.vulcan_node.ended = 1.0
        node = node.parent


def _declining_rust(reason_of):
    def reason(params):
        factory = sglang.srt.mem_cache.utils._EVICTION_POLICY_FACTORIES.get(params.eviction_policy.lower())
        return "the eviction policy is in Python" if hasattr(factory, "is_of_vulcan") else reason_of(params)

    return reason


def register(name="vulcan", **given):
    """Make the policy known to SGLang as `--radix-eviction-policy NAME`; `given` is what `PolicyStrategy` takes.

    Caches with this policy have their tree in Python: the one in Rust, SGLang's default, has its own policies only.
    """
    factories = sglang.srt.mem_cache.utils._EVICTION_POLICY_FACTORIES
    if name not in factories:
        sglang.srt.arg_groups.choices.add_radix_eviction_policy_choices([name])

    def factory():
        return PolicyStrategy(**given)

    factory.is_of_vulcan = True
    factories[name] = factory
    unified = sglang.srt.mem_cache.unified_cache
    _wrapped(sglang.srt.mem_cache.radix_cache.RadixCache, "__init__", _attaching_cache)
    _wrapped(unified.unified_tree_core.UnifiedTreeCore, "__init__", _attaching_tree)
    _wrapped(unified.tree_core_registry, "_rust_fallback_reason", _declining_rust)
    _wrapped(unified.components.base.TreeComponent, "release_session", _ending)
    for module in _CLOCKED:
        module.get_and_increase_time_counter = _clock
