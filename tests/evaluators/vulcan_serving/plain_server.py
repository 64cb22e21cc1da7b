"""The same servers by other means: plain Python with objects, lists and dictionaries, and policies run by CPython."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace as Shown
from typing import Any

from vulcan.anvil import hash
from vulcan_serving.server import SERVERS
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import PromptTrace

Functions = dict[str, Callable[..., Any]]


def spec_of(trace: PromptTrace, server: str, load: float = 0.0, **changes: Any) -> ServingSpec:
    """The requests of a trace before one replica, all of them measured."""
    settings = asdict(SERVERS[server]) | {"measure_from": 0, "measure_to": trace.requests, "replicas": 1} | changes
    return ServingSpec("", None, trace.block_tokens, trace.digest, trace.requests, load=load, **settings)


def functions_of(source: str) -> Functions:
    """Run a policy's module, which is Python too."""
    module: dict[str, Any] = {"hash": lambda a, k: int(hash(a, k))}  # what indices are made of
    exec(source, module)
    return module


@dataclass(eq=False)
class Block:
    holders: int = 0
    content: int = -1


@dataclass(eq=False)
class Request:
    number: int
    prompt: int
    output: int
    blocks: list[int]
    arrived: float
    known: dict[str, float]
    via: int
    written: int = 0
    computed: int = 0
    given: int = 0
    found: int = 0
    preempted: int = 0
    first: float = 0.0
    last: float = 0.0
    estimate: int = 0
    holds: list[Block] = field(default_factory=list)

    def shown(self, cached: int) -> Shown:
        return Shown(
            id=self.number, arrived=self.arrived, generated=self.written, computed=self.computed, cached=cached,
            preempted=self.preempted, first_token=self.first, **self.known,
        )  # fmt: skip


class Memory:
    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.free = OrderedDict((Block(), None) for _ in range(blocks))
        self.by_content: dict[int, list[Block]] = {}

    def found(self, request: Request) -> list[Block]:
        hits = []
        for content in request.blocks[: (request.prompt + request.written - 1) // self.size]:
            if not self.by_content.get(content):
                break
            hits.append(self.by_content[content][0])
        return hits

    def hold(self, request: Request, block: Block) -> None:
        if block.holders == 0:
            del self.free[block]
        block.holders += 1
        request.holds.append(block)

    def grow(self, request: Request, tokens: int) -> None:
        while len(request.holds) * self.size < tokens:
            block = next(iter(self.free))
            if block.content >= 0:
                self.by_content[block.content].remove(block)
                block.content = -1
            self.hold(request, block)
        for block, content in zip(request.holds[: tokens // self.size], request.blocks, strict=False):
            if block.content < 0:
                block.content = content
                self.by_content.setdefault(content, []).append(block)

    def release(self, request: Request) -> None:
        for block in request.holds:
            block.holders -= 1
        gone = [block for block in reversed(request.holds) if block.holders == 0]
        self.free |= dict.fromkeys(gone)
        for block in reversed([b for b in gone if b.content < 0]):
            self.free.move_to_end(block, last=False)
        request.holds = []
        request.computed = 0


class Server:
    """A replica, its scheduler and what it has told."""

    def __init__(self, spec: ServingSpec, size: int, source: str | None) -> None:
        self.spec, self.size = spec, size
        self.memory = Memory(spec.memory // size, size)
        self.running: list[Request] = []
        self.waiting: list[Request] = []
        self.policy: Functions = functions_of(source) if source else {}
        self.ends, self.started, self.number, self.took = math.inf, math.inf, 0, 0.0
        self.reports: list[tuple[float, int, int, float]] = []

    def engine(self, budget: int) -> Shown:
        return Shown(
            running=len(self.running), waiting=len(self.waiting), free=len(self.memory.free) * self.size,
            capacity=self.spec.memory // self.size * self.size, budget=budget, max_running=self.spec.max_running,
            step=self.took,
        )  # fmt: skip

    def tell(self, event: str, now: float, request: Request, cached: int, budget: int = 0) -> None:
        if event in self.policy:
            self.policy[event](now, request.shown(cached), self.engine(budget))

    def is_late(self, request: Request, now: float) -> bool:
        return self.spec.patience_s > 0 and request.arrived + self.spec.patience_s <= now

    def makes_room(self, now: float, budget: int) -> Request:
        def readiness(request: Request) -> tuple[bool, float, int]:
            late = self.is_late(request, now)
            score = 0.0
            if "preempt" in self.policy and not late:
                score = self.policy["preempt"](now, request.shown(request.found), self.engine(budget))
            return not late, score, request.number

        return max(self.running, key=readiness)

    def schedule(self, now: float, steps: list[tuple[int, ...]], replica: int) -> float:
        """Give tokens to requests; return how long the step takes, 0 for none."""
        spec, size, memory = self.spec, self.size, self.memory
        self.number += 1
        budget, place, has_preempted = spec.budget, 0, False
        for request in self.running:
            request.given = 0
        while place < len(self.running) and budget > 0:
            request = self.running[place]
            wanted = min(request.prompt + request.written - request.computed, budget)
            tokens = request.computed + wanted
            victim = None
            while math.ceil(tokens / size) - len(request.holds) > len(memory.free):
                victim = self.makes_room(now, budget)
                budget += victim.given
                place -= self.running.index(victim) < place
                self.running.remove(victim)
                victim.given = 0
                memory.release(victim)
                victim.preempted += 1
                has_preempted = True
                self.waiting = sorted([*self.waiting, victim], key=lambda r: r.number)
                steps.append((replica, self.number, victim.number, -1, -1))
                self.tell("on_preempt", now, victim, len(memory.found(victim)) * size, budget)
                if victim is request:
                    break
            if victim is request:
                continue
            memory.grow(request, tokens)
            request.given = wanted
            budget -= wanted
            place += 1
        new: dict[Request, int] = {}
        if not has_preempted and budget > 0 and len(self.running) < spec.max_running and self.waiting:
            kept = 0
            if "reserve" in self.policy:
                kept = math.ceil(int(max(self.policy["reserve"](now, self.engine(budget)), 0)) / size)
            late = [r for r in self.waiting if self.is_late(r, now)]
            others = [r for r in self.waiting if r not in late]
            if "score" in self.policy:
                shown = {r: r.shown(len(memory.found(r)) * size) for r in others}
                engine = self.engine(budget)
                scores = {r: self.policy["score"](now, shown[r], engine) for r in others}
                others.sort(key=lambda r: (-scores[r], r.number))
            for request in [*late, *others]:
                hits = memory.found(request)
                whole = request.prompt + request.written
                wanted = whole - len(hits) * size
                if budget <= 0 or len(self.running) == spec.max_running:
                    break
                if wanted > budget and spec.prefill == "whole":
                    break
                wanted = min(wanted, budget)
                needed = math.ceil(whole / size) - len(hits) + sum(block.holders == 0 for block in hits)
                if needed + (kept if self.running and request not in late else 0) > len(memory.free):
                    break
                self.waiting.remove(request)
                self.running.append(request)
                for block in hits:
                    memory.hold(request, block)
                request.computed = new[request] = len(hits) * size
                if request.preempted == 0:
                    request.found = request.computed
                memory.grow(request, request.computed + wanted)
                request.given = wanted
                budget -= wanted
                self.tell("on_admit", now, request, request.computed, budget)
        prefilled, decoded, context, pairs = 0, 0, 0, 0.0
        for request in self.running:
            if request.given == 0:
                continue
            if request.given == 1 and request.written and request.computed >= request.prompt:
                decoded += 1
                context += request.computed
            else:
                prefilled += request.given
                pairs += float(request.given) * request.computed + 0.5 * float(request.given) * request.given
            steps.append((replica, self.number, request.number, request.given, new.get(request, -1)))
        if prefilled + decoded == 0:
            return 0.0
        return (
            1e-3 * spec.base_ms + prefilled * (1e-6 * spec.prefill_us) + pairs * (1e-9 * spec.pair_ns)
            + decoded * (1e-6 * spec.decode_us) + context * (1e-9 * spec.context_ns)
        )  # fmt: skip

    def finish(self, now: float) -> Iterator[tuple[str, Request]]:
        """Do what the step has computed, and yield each request that has its first token, or its last, as it has it."""
        for request in list(self.running):
            if not request.given:
                continue
            request.computed += request.given
            request.given = 0
            if request.computed < request.prompt + request.written:
                continue
            request.written += 1
            if request.written == 1:
                request.first = now
                yield "on_first_token", request
                self.tell("on_first_token", now, request, request.found)
            if request.written == request.output:
                request.last = now
                self.running.remove(request)
                self.tell("on_finish", now, request, request.found)
                self.memory.release(request)
                yield "on_finish", request


class Router:
    def __init__(self, spec: ServingSpec, number: int, size: int, source: str | None) -> None:
        self.spec, self.number, self.size = spec, number, size
        self.policy: Functions = functions_of(source) if source else {}
        self.mine: list[list[Request]] = [[] for _ in range(spec.replicas)]
        self.sent: list[list[float]] = [[] for _ in range(spec.replicas)]
        self.heard = [(0.0, 0, 0, 0.0, 0)] * spec.replicas
        self.got = [0] * spec.replicas
        self.marks: list[dict[int, int]] = [{} for _ in range(spec.replicas)]
        self.fresh = [0] * spec.replicas
        self.last: dict[float, int] = {}
        self.sent_at_report: list[list[int]] = [[] for _ in range(spec.replicas)]

    def router(self) -> Shown:
        spec = self.spec
        return Shown(
            replicas=spec.replicas, routers=spec.routers, unfinished=sum(map(len, self.mine)),
            capacity=spec.memory // self.size * self.size,
        )  # fmt: skip

    def replica(self, r: int, now: float, prefix: int = 0, **asked: float) -> Shown:
        taken, running, waiting, used, then = self.heard[r]
        asked = {"same": 0, "drawn": 0, "queue": 0, "chance": 0} | asked
        return Shown(
            id=r, mine=len(self.mine[r]), prefill=sum(q.estimate for q in self.mine[r] if not q.written),
            held=sum(q.prompt + q.written for q in self.mine[r]), prefix=prefix, running=running, waiting=waiting,
            used=used, age_ms=1e3 * (now - taken), sent=len(self.sent[r]) - then, **asked,
        )  # fmt: skip

    def hear(self, r: int, server: Server, now: float) -> None:
        while self.got[r] < len(server.reports) and server.reports[self.got[r]][0] + 1e-3 * self.spec.delay_ms <= now:
            self.heard[r] = (*server.reports[self.got[r]], self.sent_at_report[r][self.got[r]])
            self.got[r] += 1
            if "on_report" in self.policy:
                self.policy["on_report"](now, self.replica(r, now), self.router())

    def send(self, request: Request, servers: list[Server], workload: ServingWorkload, now: float) -> int:
        i, count = request.number, self.spec.replicas
        first, second = workload.drawn[i].tolist()
        around = [(first + k) % count for k in range(count)]
        if not self.policy:
            chosen = min(around, key=lambda r: len(self.mine[r]))
            self.mine[chosen].append(request)
            return chosen
        for r in range(count):
            self.hear(r, servers[r], now)
        capacity = self.spec.memory // self.size
        contents = request.blocks[: (request.prompt - 1) // self.size]
        seen = {}
        for r in around:
            has = 0
            while has < len(contents) and self.fresh[r] - self.marks[r].get(contents[has], -(10**9)) < capacity:
                has += 1
            is_drawn = r in (first, second)
            session = request.known["session"]
            queue = len(servers[r].running) + len(servers[r].waiting) if is_drawn else 0
            seen[r] = self.replica(
                r, now, has * self.size, same=session > 0 and self.last.get(session) == r, drawn=is_drawn,
                queue=queue, chance=workload.chances[i, r],
            )  # fmt: skip
        asked = Shown(**request.known)
        scores = {r: self.policy["score"](now, seen[r], self.router(), asked) for r in around}
        r = max(around, key=lambda one: scores[one])
        if "on_dispatch" in self.policy:
            self.policy["on_dispatch"](now, seen[r], self.router(), asked)
        request.estimate = request.prompt - seen[r].prefix
        self.fresh[r] += request.prompt // self.size - seen[r].prefix // self.size
        self.marks[r] |= dict.fromkeys(request.blocks[: request.prompt // self.size], self.fresh[r])
        self.last[request.known["session"]] = r
        self.mine[r].append(request)
        self.sent[r].append(now)
        return r

    def answered(self, request: Request, r: int, now: float, event: str) -> None:
        if event == "on_finish":
            self.mine[r].remove(request)
            total = request.prompt + request.written - 1
            self.fresh[r] += total // self.size - request.prompt // self.size
            self.marks[r] |= dict.fromkeys(request.blocks[: total // self.size], self.fresh[r])
        if event in self.policy:
            answer = Shown(
                prompt=request.prompt, predicted=request.known["predicted"], cached=request.found,
                generated=request.written, ttft=request.first - request.arrived, total=now - request.arrived,
            )  # fmt: skip
            self.policy[event](now, self.replica(r, now), self.router(), answer)


def requests_of(workload: ServingWorkload) -> list[Request]:
    """Return the requests as they are before they arrive."""
    trace = workload.trace
    names = ("prompt", "predicted", "priority", "kind", "session", "turn", "ttft_goal", "tpot_goal")
    columns = (
        trace.prompt_tokens, workload.predicted, trace.priorities, trace.kinds, trace.sessions, trace.turns,
        workload.goals[:, 0], workload.goals[:, 1],
    )  # fmt: skip
    return [
        Request(
            i, int(trace.prompt_tokens[i]), int(workload.outputs[i]),
            trace.blocks[trace.starts[i] : trace.starts[i + 1]].tolist(), float(workload.arrivals[i]),
            {name: column[i].item() for name, column in zip(names, columns, strict=True)}, int(workload.via[i]),
        )
        for i in range(trace.requests)
    ]  # fmt: skip


def serve(
    spec: ServingSpec,
    workload: ServingWorkload,
    scheduler: str | None = None,
    router: str | None = None,
    routes: list[int] | None = None,
) -> tuple[list[Request], list[int], list[tuple[int, ...]]]:
    """Return all requests as they are at the end, their replicas, and what each step did.

    With `routes`, the replicas of all requests, no router decides.
    """
    size, requests = workload.trace.block_tokens, requests_of(workload)
    servers = [Server(spec, size, scheduler) for _ in range(spec.replicas)]
    routers = [Router(spec, b, size, router) for b in range(spec.routers)]
    steps: list[tuple[int, ...]] = []
    chosen: list[int] = []
    while any(request.written < request.output for request in requests):
        server = min(servers, key=lambda s: s.ends)
        r = servers.index(server)
        if len(chosen) < len(requests) and requests[len(chosen)].arrived <= server.ends:
            request = requests[len(chosen)]
            now = request.arrived
            if routes is None:
                r = routers[request.via].send(request, servers, workload, now)
            else:
                r = routes[request.number]
                routers[request.via].mine[r].append(request)
            chosen.append(r)
            server = servers[r]
            server.waiting.append(request)
            server.ends = min(server.ends, now) if server.ends == math.inf else server.ends
            server.tell("on_arrival", now, request, len(server.memory.found(request)) * size)
            continue
        now = server.ends
        if server.started < now:
            server.took = now - server.started
        for event, request in server.finish(now):
            routers[request.via].answered(request, r, now, event)
        took = 0.0
        while took == 0.0 and server.running + server.waiting:
            took = server.schedule(now, steps, r)
        server.ends = now + took if took else math.inf
        server.started = now if took else math.inf
        for each in routers:
            if each.policy:
                each.hear(r, server, now)
            each.sent_at_report[r].append(len(each.sent[r]))
        used = 1.0 - len(server.memory.free) / (spec.memory // size)
        server.reports.append((now, len(server.running), len(server.waiting), used))
    return requests, chosen, steps
