"""A policy as a request router of Ray Serve: the class `PolicyRouter`."""

import asyncio
import importlib
import random
import time

import ray.serve.request_router

from vulcan_serving.exported.stand_ins import _USES, RoutingPolicy, _Answer, _Request

# --- exported modules have the policy above this line ---


class PolicyRouter(ray.serve.request_router.RequestRouter):
    """A request router of Ray Serve 2.60 that decides as the policy does; Ray calls this interface alpha.

    `RequestRouterConfig(request_router_class="MODULE.PolicyRouter")`. Where the policy reads `request` or
    `replica.same`, give `request_router_kwargs={"describe": "MODULE.FUNCTION"}`: a function of the positional and the
    named arguments of a request that returns what the policy reads of it, such as {"prompt": 900, "session": 7}.
    Replicas that have no room are passed over, in the policy's order. Requests are decided one at a time, each when the
    one before it is on its way and counted. Each handle and proxy has a router of its own.
    """

    def initialize_state(self, describe=None):
        """Begin with no replicas."""
        needed = sorted(name for name in _USES if name.startswith("request.") or name == "replica.same")
        if describe is None and needed:
            raise ValueError(f"the policy reads {', '.join(needed)}: give describe in request_router_kwargs")
        module, _, function = (describe or "").rpartition(".")
        self._describe = getattr(importlib.import_module(module), function) if module else None
        self._policy = RoutingPolicy()
        self._known, self._numbers, self._sent, self._sessions = {}, 0, {}, {}
        self._start = None
        self._deciding, self._is_sent = None, asyncio.Event()
        self._is_sent.set()

    def update_replicas(self, replicas):
        """Some replicas have come or gone."""
        super().update_replicas(replicas)
        for identity in self._known.keys() - self._replicas.keys():
            self._policy.forgotten(self._known.pop(identity))
        for identity in self._replicas:
            if identity not in self._known:
                self._known[identity] = self._policy.new(self._numbers)
                self._numbers += 1
        self._policy.router.replicas = float(len(self._known))

    async def choose_replicas(self, candidate_replicas, pending_request=None):
        """The replicas for a request, each a rank of its own, the best first."""
        request = self._request_of(pending_request)
        while not self._is_sent.is_set():
            try:
                await asyncio.wait_for(self._is_sent.wait(), 0.01)
            except TimeoutError:  # it was cancelled, or no replica has room for it
                break
        self._is_sent.clear()
        self._deciding = request
        now = self._now()
        candidates = [each for each in candidate_replicas if each.replica_id in self._known]
        first = random.randrange(len(candidates)) if candidates else 0
        candidates = candidates[first:] + candidates[:first]
        queues = await self._asked(candidates) if {"replica.drawn", "replica.queue"} & _USES else {}
        ids = {}
        for each in candidates:
            if replica := self._known.get(each.replica_id):
                replica.drawn = float(each.replica_id in queues)
                replica.queue = float(queues.get(each.replica_id) or 0)
                replica.chance = random.random()
                replica.same = float(bool(request.session) and self._sessions.get(request.session) == each.replica_id)
                ids[replica] = each
        return [[ids[replica]] for replica in self._policy.ranked(list(ids), request, now)]

    async def _asked(self, candidates):
        """The queue lengths of two that are drawn, as Ray's own router knows them: heard lately, or else asked for."""
        drawn = random.sample(candidates, min(2, len(candidates)))
        found = {each.replica_id: self.replica_queue_len_cache.get(each.replica_id) for each in drawn}
        unknown = [each for each in drawn if found[each.replica_id] is None]
        found |= {each.replica_id: length for each, length in await self._probe_queue_lens(unknown, 0)}
        return {identity: length for identity, length in found.items() if length is not None}

    def on_send_request(self, replica_id):
        """A request is on its way."""
        super().on_send_request(replica_id)
        request, self._deciding = self._deciding, None
        if request is not None and request.session:
            self._sessions.pop(request.session, None)
            self._sessions[request.session] = replica_id
            if len(self._sessions) > 100_000:
                del self._sessions[next(iter(self._sessions))]
        if request is not None and (replica := self._known.get(replica_id)):
            self._policy.dispatched(replica, request, self._now())
        self._count(replica_id, 1.0)
        self._is_sent.set()

    def on_request_routed(self, pending_request, replica_id, result):
        """A replica has accepted a request."""
        request = self._request_of(pending_request)
        self._sent[pending_request.metadata.internal_request_id] = request, pending_request.created_at

    def on_request_completed(self, replica_id, internal_request_id):
        """A request is finished, or was not accepted."""
        self._count(replica_id, -1.0)
        request, since = self._sent.pop(internal_request_id, (None, 0.0))
        if request is not None and (replica := self._known.get(replica_id)):
            answer = _Answer()
            answer.prompt, answer.predicted, answer.total = request.prompt, request.predicted, time.time() - since
            self._policy.finished(replica, answer, self._now())

    def _count(self, replica_id, change):
        self._policy.router.unfinished += change
        if replica := self._known.get(replica_id):
            replica.mine += change

    def _request_of(self, pending):
        found = getattr(pending, "vulcan_request", None)
        if found is None:
            found = _Request()
            if pending is not None:
                known = self._describe(pending.args, pending.kwargs) if self._describe else {}
                for name, value in known.items():
                    setattr(found, name, float(value))
                pending.vulcan_request = found
                self._policy.arrived(found)
        return found

    def _now(self):
        now = time.monotonic()
        if self._start is None:
            self._start = now
        return now - self._start
