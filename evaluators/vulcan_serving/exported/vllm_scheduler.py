"""A policy as a scheduler of vLLM: the class `PolicyScheduler`."""

import math
import time
import zlib

import vllm.v1.core.sched.async_scheduler
import vllm.v1.core.sched.request_queue
import vllm.v1.request

from vulcan_serving.exported.stand_ins import _USES, RequestPolicy

# --- exported modules have the policy above this line ---


_GIVEN = ("predicted", "kind", "turn", "ttft_goal", "tpot_goal")


class _WaitingRequests(vllm.v1.core.sched.request_queue.FCFSRequestQueue):
    """Those that wait, sorted when a step first asks which is next."""

    def __init__(self, scheduler):
        super().__init__()
        self.scheduler = scheduler
        self.is_sorted = False

    def peek_request(self):
        """The request that is next."""
        if not self.is_sorted:
            self.is_sorted = True
            found = self.scheduler.in_order(list(self))
            self.clear()
            self.extend(found)
        return super().peek_request()


class PolicyScheduler(vllm.v1.core.sched.async_scheduler.AsyncScheduler):
    """The scheduler of vLLM 0.33 with the policy's order of admission, choice of who makes room, and memory kept free.

    `vllm serve MODEL --scheduler-cls MODULE.PolicyScheduler`, with the module where Python finds it. Of a request vLLM
    does not know its kind, its turn, its predicted length or its objectives: a client sends those that the policy reads
    as `vllm_xargs`, such as {"predicted": 200, "ttft_goal": 2}; without, or where one is no number from 0 on, they are
    0, and the turn 1. `request.priority` is the number of vLLM's field `priority` negated, as there a lower one is more
    urgent. What runs ahead of the model (asynchronous scheduling) is counted as computed.
    """

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.policy = vllm.v1.core.sched.request_queue.SchedulingPolicy.PRIORITY  # the largest number makes room
        self.waiting = _WaitingRequests(self)
        self.decisions = RequestPolicy()
        self._seen, self._found = {}, {}
        self._count = 0
        self._start = None
        self._budgets = {}
        self._done = self._kept = 0
        self._began = 0.0
        self._chosen = None
        self._pool = self.kv_cache_manager.block_pool
        self._allocate = self.kv_cache_manager.allocate_slots
        self.kv_cache_manager.allocate_slots = self._allocating
        engine = self.decisions.engine
        engine.max_running = float(self.max_num_active_reqs)
        engine.capacity = float(self._pool.get_num_free_blocks() * self.block_size)

    def add_request(self, request):
        """A request has come."""
        is_new = request.request_id not in self.requests
        super().add_request(request)
        if is_new:
            now = self._now()
            seen = self._seen[request.request_id] = self.decisions.new(self._count, now)
            self._count += 1
            sampling = request.sampling_params
            given = (sampling and sampling.extra_args) or {}
            for name in _GIVEN:
                value = given.get(name)
                if isinstance(value, (int, float)) and 0 <= value < math.inf:
                    setattr(seen, name, float(value))
            seen.prompt, seen.priority = float(request.num_prompt_tokens), -float(request.priority)
            seen.session = 0.0 if request.session_id is None else float(1 + zlib.crc32(request.session_id.encode()))
            self._found[request.request_id] = 0.0
            self._show_engine(budget=0)
            self._show(request, self._cached(request))
            self.decisions.arrived(seen, now)

    def schedule(self, *given, **named):
        """Begin a step."""
        self._release_chosen()
        self._budgets = {}
        self.waiting.is_sorted = False
        self._began = self._now()
        return super().schedule(*given, **named)

    def update_from_output(self, *given, **named):
        """End a step."""
        self.decisions.engine.step = self._now() - self._began
        self._done = 0
        try:
            return super().update_from_output(*given, **named)
        finally:
            self._done = 0

    def in_order(self, waiting):
        """The requests that wait, the next one first."""
        now = self._now()
        self._show_engine()
        self._kept = -(-int(self.decisions.kept_free(now)) // self.block_size)
        by_id = {}
        for request in waiting:
            seen = self._show(request, self._cached(request))
            by_id[seen.id] = request
        return [by_id[seen.id] for seen in self.decisions.next([self._seen[r.request_id] for r in waiting], now)]

    def _allocating(self, request, num_new_tokens, *given, **named):
        is_late = self.decisions._is_late(self._seen[request.request_id], self._now())
        self.kv_cache_manager.watermark_blocks = 0 if is_late else self._kept
        blocks = self._allocate(request, num_new_tokens, *given, **named)
        if request.status == vllm.v1.request.RequestStatus.RUNNING:
            if blocks is None:
                self._choose()
            else:
                self._budgets[request.request_id] = num_new_tokens
        elif blocks is not None and not named.get("delay_cache_blocks"):
            self._budgets[request.request_id] = num_new_tokens
            found = float(named.get("num_new_computed_tokens", 0))
            if not request.num_preemptions:
                self._found[request.request_id] = found
            self._show_engine(joining=1)
            seen = self._show(request, found)
            seen.computed = found
            self.decisions.admitted(seen, self._now())
        return blocks

    def _choose(self):
        """Give the one that is to make room the largest number."""
        self._show_engine()
        by_id = {self._show(request, self._found[request.request_id]).id: request for request in self.running}
        victim = self.decisions.victim([self._seen[request.request_id] for request in self.running], self._now())
        chosen = by_id[victim.id]
        self._chosen = chosen, chosen.priority
        chosen.priority = math.inf

    def _release_chosen(self):
        if self._chosen is not None:
            request, request.priority = self._chosen
            self._chosen = None

    def _preempt_request(self, request, *given, **named):
        self._release_chosen()
        super()._preempt_request(request, *given, **named)
        self._budgets.pop(request.request_id, None)
        self._show_engine()
        self.decisions.made_room(self._show(request, self._cached(request)), self._now())

    def _update_request_with_output(self, request, *given, **named):
        had = request.num_output_tokens
        found, stopped = super()._update_request_with_output(request, *given, **named)
        seen, now = self._seen[request.request_id], self._now()
        if not had and request.num_output_tokens:
            seen.first_token = now
            self._show_engine(budget=0)
            self.decisions.began(self._show(request, self._found[request.request_id]), now)
        if stopped:
            self._done += 1
            self._show_engine(budget=0)
            self.decisions.finished(self._show(request, self._found[request.request_id]), now)
        return found, stopped

    def _free_request(self, request, *given, **named):
        self.decisions.forgotten(self._seen.pop(request.request_id))
        del self._found[request.request_id]
        return super()._free_request(request, *given, **named)

    def _now(self):
        now = time.monotonic()
        if self._start is None:
            self._start = now
        return now - self._start

    def _cached(self, request):
        if "request.cached" not in _USES:
            return 0.0
        return float(self.kv_cache_manager.get_computed_blocks(request)[1])

    def _show(self, request, cached):
        seen = self._seen[request.request_id]
        seen.generated, seen.computed = float(request.num_output_tokens), float(request.num_computed_tokens)
        seen.cached, seen.preempted = cached, float(request.num_preemptions)
        return seen

    def _show_engine(self, budget=None, joining=0):
        engine = self.decisions.engine
        running, waiting = self.get_request_counts()
        engine.running, engine.waiting = float(running + joining - self._done), float(waiting - joining)
        engine.free = float(self._pool.get_num_free_blocks() * self.block_size)
        engine.budget = float(self.max_num_scheduled_tokens - sum(self._budgets.values()) if budget is None else budget)
