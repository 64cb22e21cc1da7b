"""vLLM's own scheduler, KV cache manager and prefix cache with made-up model outputs; run by `make test-serving`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload

MOST_TOKENS = 2**20
MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": MOST_TOKENS,
    "torch_dtype": "float16",
}

init_none_hash(sha256)

Step = tuple[list[int], list[tuple[int, int, int]]]
"""Who made room, in that order; and the requests of a step, its tokens, and those found as it was admitted, else -1."""


@cache
def _model() -> ModelConfig:
    with TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(MODEL))
        return ModelConfig(
            model=folder, tokenizer=folder, dtype="float16", skip_tokenizer_init=True, max_model_len=MOST_TOKENS
        )


@dataclass
class Clock:
    """The simulation's time, in place of the module `time`."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class VllmServer:
    """vLLM's scheduler, or the class named, before a model that takes as long as the modelled server.

    With `counts_itself` a step takes as long again as the scheduler has been computing for it here.
    """

    spec: ServingSpec
    workload: ServingWorkload
    policy: str = "fcfs"
    scheduler_class: str | None = None
    counts_itself: bool = False
    computing: float = 0.0
    clock: Clock = field(default_factory=Clock)
    steps: list[Step] = field(default_factory=list)
    first: dict[int, float] = field(default_factory=dict)
    last: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        trace, spec = self.workload.trace, self.spec
        self.size = trace.block_tokens
        scheduling = SchedulerConfig(
            max_num_seqs=spec.max_running,
            max_num_batched_tokens=spec.budget,
            max_model_len=MOST_TOKENS if spec.prefill == "chunked" else spec.budget,
            is_encoder_decoder=False,
            enable_chunked_prefill=spec.prefill == "chunked",
            policy=self.policy,
            scheduler_cls=self.scheduler_class,
            async_scheduling=False,
        )
        caching = CacheConfig(block_size=self.size, enable_prefix_caching=True)
        config = VllmConfig(
            scheduler_config=scheduling,
            model_config=_model(),
            cache_config=caching,
            device_config=DeviceConfig("cpu"),
        )
        blocks = spec.memory // self.size + 1  # one of which is never given
        caching.num_gpu_blocks = blocks
        attention = FullAttentionSpec(block_size=self.size, num_kv_heads=1, head_size=1, dtype=torch.float32)
        self.scheduler: Any = scheduling.get_scheduler_cls()(
            vllm_config=config,
            kv_cache_config=KVCacheConfig(
                num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], attention)]
            ),
            structured_output_manager=StructuredOutputManager(config),
            block_size=self.size,
            log_stats=True,
        )
        assert isinstance(self.scheduler, Scheduler)
        self._hasher = get_request_block_hasher(self.size, sha256)
        self._made_room: list[int] = []
        preempt = self.scheduler._preempt_request

        def noted(request: Request, *given: Any, **named: Any) -> None:
            self._made_room.append(int(request.request_id))
            preempt(request, *given, **named)

        self.scheduler._preempt_request = noted

    def token(self, i: int, position: int) -> int:
        """The token of a request at a position: the number of the block that it is in."""
        trace = self.workload.trace
        place = int(trace.starts[i]) + position // self.size
        return int(trace.blocks[place]) if place < trace.starts[i + 1] else trace.block_count + i

    def request(self, i: int) -> Request:
        """A request as vLLM's front end makes it."""
        trace = self.workload.trace
        known = {
            "predicted": int(self.workload.predicted[i]),
            "kind": int(trace.kinds[i]),
            "turn": int(trace.turns[i]),
            "ttft_goal": float(self.workload.goals[i, 0]),
            "tpot_goal": float(self.workload.goals[i, 1]),
        }
        return Request(
            request_id=str(i),
            prompt_token_ids=[self.token(i, position) for position in range(int(trace.prompt_tokens[i]))],
            sampling_params=SamplingParams(max_tokens=int(self.workload.outputs[i]), ignore_eos=True, extra_args=known),
            pooling_params=None,
            arrival_time=float(i),
            priority=-int(trace.priorities[i]),
            session_id=str(trace.sessions[i]) if trace.sessions[i] else None,
            block_hasher=self._hasher,
        )

    def run(self) -> None:
        """Serve all requests, arrivals first at a moment, then the end of a step and the beginning of the next."""
        arrivals = self.workload.arrivals
        arrived, output = 0, None
        ends = float("inf")
        while arrived < len(arrivals) or output is not None:
            if arrived < len(arrivals) and arrivals[arrived] <= ends:
                self.clock.now = float(arrivals[arrived])
                self.scheduler.add_request(self.request(arrived))
                arrived += 1
                ends = self.clock.now if ends == float("inf") else ends
                continue
            self.clock.now = ends
            before = self.computing
            if output is not None:
                self._finish(output)
            output, ends = None, float("inf")
            while output is None and self.scheduler.has_unfinished_requests():
                output, took = self._begin()
                ends = self.clock.now + took + (self.computing - before if self.counts_itself else 0.0)

    def _timed(self, work: Callable[..., Any], *given: Any) -> Any:
        began = time.process_time()
        done = work(*given)
        self.computing += time.process_time() - began
        return done

    def _begin(self) -> tuple[SchedulerOutput | None, float]:
        output: SchedulerOutput = self._timed(self.scheduler.schedule)
        admitted = {each.req_id: each.num_computed_tokens for each in output.scheduled_new_reqs}
        cached = output.scheduled_cached_reqs
        before = dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
        admitted |= {each: before[each] for each in cached.resumed_req_ids}
        given = output.num_scheduled_tokens
        self.steps.append((self._made_room, [(int(i), n, admitted.get(i, -1)) for i, n in given.items()]))
        self._made_room = []
        if not given:
            self.scheduler.update_from_output(output, ModelRunnerOutput(req_ids=[], req_id_to_index={}))
            return None, 0.0
        return output, self._takes(output, before | admitted)

    def _takes(self, output: SchedulerOutput, before: dict[str, int]) -> float:
        prefilled = decoded = context = 0
        pairs = 0.0
        for i, new in output.num_scheduled_tokens.items():
            request = self.scheduler.requests[i]
            if new == 1 and request.num_output_tokens > 0 and before[i] >= request.num_prompt_tokens:
                decoded += 1
                context += before[i]
            else:
                prefilled += new
                pairs += float(new) * before[i] + 0.5 * float(new) * new
        spec = self.spec
        return (
            1e-3 * spec.base_ms
            + prefilled * (1e-6 * spec.prefill_us)
            + pairs * (1e-9 * spec.pair_ns)
            + decoded * (1e-6 * spec.decode_us)
            + context * (1e-9 * spec.context_ns)
        )

    def _finish(self, output: SchedulerOutput) -> None:
        """Have the model write a token of each request that has all of its tokens computed."""
        ids = list(output.num_scheduled_tokens)
        written: list[list[int]] = []
        for each in ids:
            request, i = self.scheduler.requests[each], int(each)
            is_whole = request.num_computed_tokens >= request.num_tokens
            written.append([self.token(i, request.num_tokens)] if is_whole else [])
            if is_whole and not request.num_output_tokens:
                self.first[i] = self.clock.now
            if is_whole and request.num_output_tokens + 1 == self.workload.outputs[i]:
                self.last[i] = self.clock.now
        places = {each: place for place, each in enumerate(ids)}
        results = ModelRunnerOutput(req_ids=ids, req_id_to_index=places, sampled_token_ids=written)
        self._timed(self.scheduler.update_from_output, output, results)
