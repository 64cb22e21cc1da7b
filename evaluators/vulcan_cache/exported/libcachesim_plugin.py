"""A policy as a plug-in of libCacheSim: the class `PolicyCache`."""

import itertools
import weakref

import libcachesim

from vulcan_cache.exported.twin import _Twin

# --- exported modules have the policy above this line ---


class _Hooks:
    """What libCacheSim calls.

    On a miss it asks whether the object may enter, then for what is to be evicted, object by object, and tells of the
    miss at last. The policy decides all of that at the first of these calls.
    """

    def __init__(self, how):
        self._how = how
        self._decided = False

    def start(self, parameters):
        self.twin = _Twin(parameters.cache_size, **self._how)
        return self

    def hit(self, _, request):
        self._ask(request, hit=True)
        self._drop()

    def miss(self, _, request):
        if not self._decided:
            self._ask(request, hit=False)
        self._decided = False
        self._drop()

    def admit(self, _, request):
        self._ask(request, hit=False)
        self._decided = True
        return request.obj_id in self.twin

    def evict(self, _, request):
        if not self._decided:
            self._ask(request, hit=False)
            self._decided = True
        if not self.twin.left:
            raise RuntimeError(f"the policy evicts nothing for object {request.obj_id}: ask by requests alone")
        return self.twin.left.pop(0)

    def remove(self, _, key):
        self.twin.discard(key)

    def _ask(self, request, hit):
        if self.twin.request(request.obj_id, request.obj_size) != hit:
            raise RuntimeError(
                f"libCacheSim {'has' if hit else 'lacks'} object {request.obj_id}, and to the policy it is not so: "
                "objects must not expire, nor enter or be evicted but by requests"
            )

    def _drop(self):
        """Remove what the policy evicted and libCacheSim did not ask for: at a hit, or for an object of size 0."""
        owner = self.owner()
        for key in self.twin.taken():
            owner.remove(key)


def _nothing(*_):
    """Is to be done."""


def _admissioner(name, hooks):
    """Asks the hooks, by a weak reference: libCacheSim never lets go of the functions that it is given here."""

    def admit(_, request):
        return hooks().admit(_, request)

    return libcachesim.PluginAdmissioner(name, dict, admit, _nothing, _nothing, _nothing)


class PolicyCache(libcachesim.PluginCache):
    """A cache of libCacheSim that lets in and evicts what the policy decides.

    `cache_size` is in bytes, or a share of the working set of a `reader`. `how` is what the class `Cache` above takes
    besides its capacity. Drive it by `get(request)` or `process_trace(reader)`; `remove(obj_id)` may be called between
    requests. Its misses are those of Vulcan's simulator on the same requests, and so are its evictions.

    To the policy an object takes 1 byte at least. Nothing may expire: `default_ttl` is in seconds of the trace.
    """

    def __init__(
        self,
        cache_size,
        *,
        reader=None,
        default_ttl=86400 * 300,
        hashpower=20,
        cache_name="VulcanPolicy",
        **how,
    ):
        hooks = self._hooks = _Hooks(how)
        hooks.owner = weakref.ref(self)
        admissioner = None
        if "admit" in globals() or "insert" in globals():  # functions of policies that may turn objects away
            admissioner = _admissioner(cache_name, weakref.ref(hooks))
        super().__init__(
            cache_size,
            hooks.start,
            hooks.hit,
            hooks.miss,
            hooks.evict,
            hooks.remove,
            _nothing,
            cache_name=cache_name,
            default_ttl=default_ttl,
            hashpower=hashpower,
            admissioner=admissioner,
            reader=reader,
        )
        self._admissioner = admissioner  # behind the cache itself, for that must go before it

    def process_trace(self, reader, start_req=0, max_req=-1):
        """The share of missed requests, and of missed bytes, as of every cache of libCacheSim."""
        if self._admissioner is None:
            return super().process_trace(reader, start_req, max_req)
        # libCacheSim's own loop crashes where it is to ask a Python function for admission
        requests = hits = total = found = 0
        for request in itertools.islice(reader, start_req, None if max_req < 0 else start_req + max_req):
            hit = self.get(request)
            requests, total = requests + 1, total + request.obj_size
            hits, found = hits + hit, found + hit * request.obj_size
        return 1.0 - hits / max(requests, 1), 1.0 - found / max(total, 1)

    def set_cache_size(self, new_size):
        """Is not possible."""
        raise ValueError("the policy keeps the size that it began with: make a new cache")

    @property
    def hits(self):
        """Requests that found their object."""
        return self._hooks.twin.hits

    @property
    def misses(self):
        """Requests that did not."""
        return self._hooks.twin.misses

    @property
    def bypassed(self):
        """Misses of objects that did not enter: they are larger than the cache, or the policy turned them away."""
        return self._hooks.twin.bypassed
