"""The simulator of the task `cache_program`: the cache is simulated here, and a program decides what it evicts."""

from __future__ import annotations

import inspect
import marshal
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import repeat
from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from vulcan.evaluator import Instance, Rung
from vulcan.python_policy.policy import ProgramFailed, ProgramPolicy
from vulcan.robustness import SafePolicy
from vulcan.simulator import override
from vulcan.task import Metrics
from vulcan_cache import program_loop
from vulcan_cache.probe import probe_objects
from vulcan_cache.simulate import CacheResult
from vulcan_cache.simulator import CacheSimulator
from vulcan_cache.spec import CacheSpec, Requests
from vulcan_traces import EMBEDDED

if TYPE_CHECKING:
    from vulcan.anvil import Policy

SHORTER = 40_000
"""Requests of each of the generated workloads that are the default: a program is a hundred times slower than Anvil."""

BLOCK = (128, 384)
"""Minimum and maximum block length, in requests, unless a program is told of one request at a time."""

_PROBE_REQUESTS = 2000
_PROBE_RESIDENTS = 40


class ProgramSimulator(CacheSimulator):
    """As `CacheSimulator`, of a program's decisions; a spatial sample is a smaller cache and trace of its own."""

    embedded: Mapping[str, Sequence[str]] = {
        part: tuple(f"{spec},requests={SHORTER}" for spec in specs) for part, specs in EMBEDDED.items()
    }

    @override
    def used(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the notification mode: request by request, or in blocks."""
        return {"told": "one by one" if settings["one_by_one"] else "in blocks"}

    @override
    def prepare(self, instances: Sequence[Instance]) -> None:
        from vulcan_cache.kernels import replay  # compiles the kernel, or loads it

        for instance in instances:
            self.at(instance)
        numbers, words = np.zeros(replay.STATE, np.int64), np.empty(0, np.uint32)
        replay.replay(words, numbers, 0, 0, 0, 0, numbers, numbers, numbers, words)

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return spatial samples, each told once."""
        return [
            replace(rung, instances=tuple(self._read_once(i) if i not in instances else i for i in rung.instances))
            for rung in super().rungs(instances)
        ]

    @override
    def safe_policies(self) -> Mapping[str, SafePolicy]:
        """Return none: what a guarded program would hold is not simulated."""
        return {}

    @override
    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return ranges of requests, each told once."""
        return [self._read_once(window) for window in super().windows(instance, count)]

    def _read_once(self, instance: Instance) -> Instance:
        return self.like(instance, instance.name, instance.split, told="once")

    @override
    def measure(self, who: Policy | ProgramPolicy | str, spec: CacheSpec, workload: Requests) -> Metrics:
        """Run and measure. Raises ProgramFailed where a decision cannot be carried out.

        A program that is notified of requests in blocks is run twice, with blocks that are cut elsewhere: one that sees
        more of them than its hooks are given does not decide the same, and has failed.
        """
        result = self.run(who, spec, workload)
        if not isinstance(who, str) and spec.told == "in blocks" and self.run(who, spec, workload) != result:
            raise ProgramFailed(
                "failed", "it decides differently when run again with the same requests in other blocks"
            )
        return result.metrics()

    @override
    def run(
        self, who: Policy | ProgramPolicy | str, spec: CacheSpec, workload: Requests, record: NDArray[Any] | None = None
    ) -> CacheResult:
        """Run the program once, without a check that it knows no more than its hooks are given."""
        if isinstance(who, str):
            return super().run(who, spec, workload, record)
        given = (workload.objects, workload.sizes, max(1, spec.capacity // spec.one_in), workload.measure_from)
        lengths = repeat(1) if spec.told == "one by one" else blocks()
        return replay_program(cast(ProgramPolicy, who), *given, workload.object_count, blocks=lengths, history=record)

    @override
    def decisions(self, policy: Policy | ProgramPolicy) -> str:
        """Return a digest of the objects that the program evicts, in order."""
        objects, sizes = _probe()
        capacity = round(_PROBE_RESIDENTS * float(sizes.mean()))
        result = replay_program(cast(ProgramPolicy, policy), objects, sizes, capacity, blocks=blocks())
        return f"{result.decisions & (2**64 - 1):016x}"


def blocks() -> Iterator[int]:
    """Yield block lengths that a program cannot predict; no honest program's result depends on them."""
    random = Random(secrets.randbits(64))
    while True:
        yield random.randint(*BLOCK)


def replay_program(
    policy: ProgramPolicy,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    measure_from: int = 0,
    object_count: int | None = None,
    *,
    blocks: Iterator[int],
    history: NDArray[np.uint32] | None = None,
) -> CacheResult:
    """Run a program over a trace, starting with an empty cache of `capacity` bytes; requests from `measure_from` count.

    `objects` and `sizes` have shape (requests,): dense ids in order of first appearance, and bytes. The program runs in
    a process of its own (`ProgramPolicy.hosted_by`), and is told as many requests at a time as `blocks` gives, endless
    lengths. The result is the same for every program that sees only what its hooks are given. `history`, zeros of shape
    (requests,), is filled in as by `simulate`. Raises ProgramFailed where it decides what cannot be.
    """
    from vulcan_cache.kernels import replay as kernel  # compiles the kernel, or loads it

    count = object_count if object_count is not None else int(objects.max(initial=0)) + 1
    resident_size = np.full(count, kernel.ABSENT, np.int64)
    state = np.zeros(kernel.STATE, np.int64)
    recorded = np.zeros(len(objects) + count if history is not None else 0, np.uint32)
    stop = 0
    with policy.start(_loop(), capacity) as running:
        while stop < len(objects):
            start, stop = stop, min(stop + next(blocks), len(objects))
            rows = np.stack([objects[start:stop].astype(np.int64), sizes[start:stop], np.arange(start, stop)], axis=1)
            answers = np.frombuffer(running.tell(rows.tobytes()), np.int64)
            kernel.replay(
                objects, sizes, stop, capacity, measure_from, "admit" in policy.hooks, resident_size, state, answers,
                recorded,
            )  # fmt: skip
            position, taken = int(state[kernel.POSITION]), int(state[kernel.TAKEN])
            if state[kernel.END] == kernel.NOT_THERE:
                what = "which is not in the cache" if 0 <= answers[taken] < count else "and there is no such object"
                raise ProgramFailed("failed", f"at request {position} its evict returned {answers[taken]}, {what}")
            if state[kernel.END] == kernel.DUE:
                raise ProgramFailed("failed", f"at request {position} it made no decision that was due")
            if taken != len(answers):
                more = len(answers) - taken
                raise ProgramFailed("failed", f"at request {stop - 1} it had made {more} decisions that were not due")
    if history is not None:
        history[:] = recorded[: len(objects)]
    measured = sizes[measure_from:]
    return CacheResult(
        len(measured),
        int(measured.sum(dtype=np.int64)),
        int(state[kernel.MISSES]),
        int(state[kernel.MISSED_BYTES]),
        int(state[kernel.BYPASSED]),
        int(state[kernel.DIGEST]),
    )


@cache
def _loop() -> bytes:
    """Return the code of `vulcan_cache.program_loop`."""
    return marshal.dumps(compile(inspect.getsource(program_loop), "<loop>", "exec"))


@cache
def _probe() -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return a short trace in which objects come again soon, late and never, of sizes from 1 to 4."""
    random = np.random.RandomState(1)  # its stream is the same in every version of numpy
    objects = probe_objects(random)[:_PROBE_REQUESTS]
    return objects, random.randint(1, 5, int(objects.max()) + 1).astype(np.int64)[objects]
