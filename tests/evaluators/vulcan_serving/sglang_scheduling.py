"""SGLang's own order of waiting requests, admission, budgets and prefix cache, in steps that no model computes.

What belongs to its batches of tensors is not there: requests are objects with the attributes that these parts read,
and memory is counted. A step is that of `--enable-mixed-chunk`: those that write go first, then the prompt that was
cut, then waiting ones.
"""

from __future__ import annotations

import itertools
import time
from array import array
from dataclasses import dataclass, field
from types import SimpleNamespace as Shown

import torch
from sglang_without_gpu import import_sglang

from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload

import_sglang()

import sglang.srt.managers.schedule_policy as scheduling  # noqa: E402
import sglang.srt.mem_cache.radix_cache as radix  # noqa: E402
from sglang.srt.managers.schedule_policy import AddReqResult, PrefillAdder, SchedulePolicy  # noqa: E402
from sglang.srt.managers.scheduler_components.new_token_ratio_tracker import NewTokenRatioTracker  # noqa: E402
from sglang.srt.mem_cache import common  # noqa: E402
from sglang.srt.mem_cache.allocator.base import BaseTokenToKVPoolAllocator  # noqa: E402
from sglang.srt.mem_cache.base_prefix_cache import InsertParams  # noqa: E402
from sglang.srt.mem_cache.cache_init_params import CacheInitParams  # noqa: E402
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey  # noqa: E402

scheduling.get_disagg = lambda: Shown(disaggregation_mode="null")
scheduling.get_memory = lambda: Shown(radix_eviction_policy="lru")
scheduling.get_exec = lambda: Shown(features=Shown(enable_encoder_swa_bounded_replay=False))
scheduling.get_schedule = lambda: Shown(schedule_policy="")
scheduling.mamba_prefill_chunk_grid = lambda: 1
scheduling.page_interleave_shard_size = common.page_interleave_shard_size = lambda allocator: 1


class Request:
    """What these parts read and write of a request; `shared` tokens of it are in the tree, and locked."""

    prefix_len = extend_end = shared = host_hit_length = swa_host_hit_length = auxiliary_swa_host_hit_length = 0
    extra_key = cache_salt = lock = last_node = None
    retracted_stain, found = False, -1

    def __init__(self, number: int, prompt: array[int], most: int) -> None:
        self.rid, self.origin_input_ids, self.output_ids = number, prompt, array("q")
        self.sampling_params = Shown(max_new_tokens=most, ignore_eos=False)
        self.kv = Shown(req_pool_idx=None, holds_mamba=False, cache_protected_len=0)

    @property
    def full_untruncated_fill_ids(self) -> array[int]:
        return self.origin_input_ids + self.output_ids

    @property
    def extend_len(self) -> int:
        return self.extend_end - self.prefix_len

    def needs_host_load_back(self) -> bool:
        return False

    def _compute_max_prefix_len(self, length: int) -> int:
        return length - 1


class Pool(BaseTokenToKVPoolAllocator):
    """Counts the tokens of memory that nobody has."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens, 1, torch.int64, "cpu", None, False)
        self.unused = tokens

    def available_size(self) -> int:
        return self.unused

    def alloc(self, need_size: int) -> None:
        """Nobody asks for places."""

    free = free_page_ids = clear = alloc

    def free_segment(self, indices: torch.Tensor, start_pos: int) -> None:
        self.unused += len(indices)


class Adder(PrefillAdder):
    """Keeps no counts for its log."""

    def _account_prefill_cache_admission(self, req: Request, prefix_len: int) -> None:
        """Leave it out."""


@dataclass
class SglangServer:
    """SGLang's decisions before a model that takes as long as the modelled server.

    `steps` are of (request, tokens, those found as it was admitted, else -1).
    """

    spec: ServingSpec
    workload: ServingWorkload
    policy: str = "fcfs"
    steps: list[list[tuple[int, int, int]]] = field(default_factory=list)
    first: dict[int, float] = field(default_factory=dict)
    retracted: int = 0

    def __post_init__(self) -> None:
        radix.time = Shown(monotonic=itertools.count().__next__, perf_counter=time.perf_counter)
        self.pool = Pool(self.spec.memory)
        self.tree = RadixCache(
            CacheInitParams(
                disable=False, req_to_token_pool=None, token_to_kv_pool_allocator=self.pool, page_size=1,
                eviction_policy="lru",
            )
        )  # fmt: skip
        self.order = SchedulePolicy(self.policy, self.tree, False, False, False)
        self.waiting, self.running = list[Request](), list[Request]()
        self.chunked: Request | None = None
        self.is_full = False
        self.ratio = NewTokenRatioTracker(init=0.7, min=0.098, decay=0.602 / 600, current=0.7)

    def token(self, i: int, position: int) -> int:
        trace = self.workload.trace
        place = int(trace.starts[i]) + position
        return int(trace.blocks[place]) if place < trace.starts[i + 1] else trace.block_count + i

    def request(self, i: int) -> Request:
        prompt = (self.token(i, k) for k in range(int(self.workload.trace.prompt_tokens[i])))
        return Request(i, array("q", prompt), int(self.workload.outputs[i]))

    def run(self) -> None:
        """Serve all requests; those that come as a step ends are there when the next begins."""
        arrivals, arrived, now = self.workload.arrivals, 0, 0.0
        while arrived < len(arrivals) or self.waiting or self.running or self.chunked:
            while arrived < len(arrivals) and arrivals[arrived] <= now:
                self.waiting.append(self.request(arrived))
                arrived += 1
            prompts = self.prompts() if self.waiting or self.chunked else []
            writing = self.writing(bool(prompts))
            if not prompts and not writing:
                now = float(arrivals[arrived])
                continue
            self.steps.append(
                [(each.rid, 1, -1) for each in writing] + [(p.rid, p.extend_len, p.found) for p in prompts]
            )
            now += self.took(prompts, writing)
            self.finish(prompts, writing, now)

    def prompts(self) -> list[Request]:
        """Return the requests of whose prompts the step computes something: the one that was cut, and new ones."""
        if self.is_full and self.running and self.chunked is None:
            return []
        batch = Shown(reqs=self.running)
        self.order.calc_priority(self.waiting, batch)
        adder = Adder(
            1, self.tree, self.pool, batch, self.ratio.current, 2**30, self.spec.budget, len(self.running),
            max_running_requests=self.spec.max_running, waiting_queue_len=len(self.waiting),
        )  # fmt: skip
        if self.chunked is not None:
            self.chunked.found = -1
            self.chunked = adder.add_chunked_req(self.chunked)
        for request in self.waiting:
            if adder.budget_state() == AddReqResult.OTHER:
                break
            if len(self.running) + len(adder.can_run_list) >= self.spec.max_running:
                self.is_full = True
                break
            ids = request.full_untruncated_fill_ids
            common.match_kv_cache(request, self.tree, ids, max_prefix_len=len(ids) - 1)
            request.found = request.shared = request.prefix_len
            result = adder.add_one_req(request, self.chunked is not None, None)
            if result != AddReqResult.CONTINUE:
                if result == AddReqResult.NO_TOKEN:
                    self.is_full = bool(adder.can_run_list or self.running)
                break
        self.chunked = adder.new_chunked_req or self.chunked
        self.waiting = [each for each in self.waiting if each not in adder.can_run_list]
        self.take(sum(each.extend_len for each in adder.can_run_list))
        return list(adder.can_run_list)

    def writing(self, is_mixed: bool) -> list[Request]:
        """Return the requests that write a token; if nobody else is in the step, some may have to make room."""
        is_short = False
        while not self.pool.check_decode_capacity(num_tokens=len(self.running), tree_cache=self.tree):
            if is_mixed:
                return []
            out = min(self.running, key=lambda each: (len(each.output_ids), -len(each.origin_input_ids)))
            self.running.remove(out)
            self.pool.unused += len(out.full_untruncated_fill_ids) - 1 - out.shared
            self.tree.unlock(out.lock)
            self.waiting.append(out)
            self.retracted += 1
            self.is_full, is_short = False, True
        if is_short:
            self.ratio.current = self.ratio.estimate_new_token_ratio_after_retract(self.running)
        elif not is_mixed:
            self.ratio.decay_step()
        self.take(len(self.running))
        return list(self.running)

    def take(self, tokens: int) -> None:
        self.pool.evict_to_free_tokens(self.tree, tokens)
        self.pool.unused -= tokens
        assert self.pool.unused >= 0

    def took(self, prompts: list[Request], writing: list[Request]) -> float:
        spec = self.spec
        return (
            1e-3 * spec.base_ms
            + sum(p.extend_len for p in prompts) * 1e-6 * spec.prefill_us
            + sum(p.extend_len * p.prefix_len + 0.5 * p.extend_len**2 for p in prompts) * 1e-9 * spec.pair_ns
            + len(writing) * 1e-6 * spec.decode_us
            + sum(len(each.full_untruncated_fill_ids) - 1 for each in writing) * 1e-9 * spec.context_ns
        )

    def finish(self, prompts: list[Request], writing: list[Request], now: float) -> None:
        for request in [*writing, *prompts]:
            if request is self.chunked:
                self.share(request, request.extend_end)
                continue
            if request in prompts:
                self.first.setdefault(request.rid, now)
                self.running.append(request)
            request.output_ids.append(self.token(request.rid, len(request.full_untruncated_fill_ids)))
            is_last = len(request.output_ids) == request.sampling_params.max_new_tokens
            if request in prompts or is_last:
                self.share(request, len(request.full_untruncated_fill_ids) - 1)
            if is_last:
                self.running.remove(request)
                self.tree.unlock(request.lock)
                self.is_full = False

    def share(self, request: Request, end: int) -> None:
        """Have others find so many tokens of a request."""
        key = RadixKey(request.full_untruncated_fill_ids[:end])
        done = self.tree.insert(InsertParams(key=key, value=torch.zeros(end, dtype=torch.int64)))
        self.pool.unused += done.prefix_len - request.shared
        lock = self.tree.lock(done.last_device_node)
        self.tree.unlock(request.lock)
        request.lock, request.last_node = lock, done.last_device_node
        request.shared = request.prefix_len = end
