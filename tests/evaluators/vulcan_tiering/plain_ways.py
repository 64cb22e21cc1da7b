"""The known ways to place pages in plain Python, from their descriptions."""

from __future__ import annotations

from collections import Counter

from plain_tiering import PlainMemory


def way_of(name: str, memory: PlainMemory):
    return {"first-touch": lambda _: lambda interval: ([], []), "static-oracle": lambda _: lambda interval: ([], []),
            "tpp": Tpp, "hemem": Hemem, "memtis-like": Memtis, "arms-like": ArmsLike, "arms": Arms,
            }[name](memory)  # fmt: skip


class Way:
    def __init__(self, memory: PlainMemory) -> None:
        self.memory = memory

    def samples(self, interval):
        m = self.memory
        return {p: m.reads[interval][p] + m.writes[interval][p] for p in m.fast}

    def tiers(self):
        m = self.memory
        return [p for p in sorted(m.fast) if not m.fast[p]], [p for p in sorted(m.fast) if m.fast[p]]


class Tpp(Way):
    def __init__(self, memory):
        super().__init__(memory)
        self.accessed_in = []
        self.latest = {}
        self.hand = 0

    def __call__(self, interval):
        m = self.memory
        accessed = {p for p, count in self.samples(interval).items() if count}
        before = self.accessed_in[-1] if self.accessed_in else set()
        self.accessed_in.append(accessed)
        self.latest.update(dict.fromkeys(accessed, interval))
        slow, fast = self.tiers()
        risers = [p for p in slow if p in accessed and p in before]
        risers.sort(key=lambda p: (p - self.hand) % len(m.fast))
        fallers = [p for p in fast if p not in accessed]
        fallers.sort(key=lambda p: (self.latest.get(p, -1), -p))
        promoted = min(len(risers), len(fallers), m.limit // 2)
        if promoted:
            self.hand = (risers[promoted - 1] + 1) % len(m.fast)
        return risers, fallers


class Hemem(Way):
    def __init__(self, memory):
        super().__init__(memory)
        self.reads, self.writes = Counter(), Counter()
        self.is_hot, self.since = {}, {}

    def __call__(self, interval):
        m = self.memory
        for p in m.fast:
            self.reads[p] += m.reads[interval][p]
            self.writes[p] += m.writes[interval][p]
        halvings = 0
        while max([0, *self.reads.values(), *self.writes.values()]) / 2**halvings >= 18:
            halvings += 1
        for counts in (self.reads, self.writes):
            for p in counts:
                counts[p] = counts[p] >> halvings
        for p in m.fast:
            hot = self.reads[p] >= 8 or self.writes[p] >= 4
            if hot != self.is_hot.get(p, False):
                self.is_hot[p], self.since[p] = hot, interval + 1
        slow, fast = self.tiers()
        since = self.since
        risers = [p for p in slow if self.is_hot.get(p)]
        risers.sort(key=lambda p: (self.writes[p] < 4, since[p], p))
        fallers = [p for p in fast if not self.is_hot.get(p)]
        fallers.sort(key=lambda p: (since.get(p, 0), -p))
        return risers, fallers


class Memtis(Way):
    def __init__(self, memory):
        super().__init__(memory)
        self.counts = Counter()

    def __call__(self, interval):
        m = self.memory
        self.counts.update(self.samples(interval))
        if interval % 20 == 19:
            for p in self.counts:
                self.counts[p] //= 2
        sizes = Counter(self.counts[p].bit_length() for p in m.fast)
        threshold, held = 64, 0
        while threshold > 1 and held + sizes[threshold - 1] <= m.capacity:
            threshold -= 1
            held += sizes[threshold]
        hot = {p for p in m.fast if self.counts[p].bit_length() >= threshold}
        slow, fast = self.tiers()
        return (
            sorted((p for p in slow if p in hot), key=lambda p: (-self.counts[p], p)),
            sorted((p for p in fast if p not in hot), key=lambda p: (self.counts[p], -p)),
        )


class ArmsLike(Way):
    def __init__(self, memory):
        super().__init__(memory)
        self.averages = {}

    def __call__(self, interval):
        for p, count in self.samples(interval).items():
            first = p not in self.averages
            fast, slow = (count, count) if first else self.averages[p]
            self.averages[p] = fast + 0.6667 * (count - fast), slow + 0.0952 * (count - slow)
        return self.memory.by_rank({p: 0.731 * fast + 0.269 * slow for p, (fast, slow) in self.averages.items()})


class Arms(Way):
    def __init__(self, memory):
        super().__init__(memory)
        self.quick, self.slow, self.score, self.hot_for, self.lasts = {}, {}, {}, {}, {}
        self.mean = self.deviation = self.sum = 0.0
        self.changing, self.since = False, 0

    def detect(self, bandwidth):
        self.mean = (1.0 - 0.3) * self.mean + 0.3 * bandwidth
        off = bandwidth - self.mean
        variance = (1.0 - 0.1) * self.deviation * self.deviation + 0.1 * off * off
        self.deviation = max(variance, 1e-12) ** 0.5
        self.sum = max(self.sum + (off - 0.1 * self.deviation), 0.0)
        if self.sum > 3.0 * self.deviation:
            if not self.changing and bandwidth > 0.3:
                self.changing, self.since = True, 0
            self.sum = 0.0
        elif self.changing:
            self.since += 1
            if self.since >= 20 and self.sum <= 0.0:
                self.changing = False

    def __call__(self, interval):
        m = self.memory
        slow = m.machine.slow
        bandwidth = m.state["memory.slow_bandwidth"]
        if interval % 2:
            self.detect(bandwidth)
        weight = 0.731 if self.changing else 0.4
        before, self.score = self.score, {}
        for p in m.fast:
            seen = m.reads[interval][p] + slow.read / slow.write * m.writes[interval][p]
            quick, steady = self.quick.get(p, 0.0), self.slow.get(p, 0.0)
            self.quick[p], self.slow[p] = quick + 0.6667 * (seen - quick), steady + 0.0952 * (seen - steady)
            self.score[p] = weight * self.quick[p] + (1.0 - weight) * self.slow[p]
        ranked = sorted(m.fast, key=lambda p: (-self.score[p], p))
        for p in ranked[: m.capacity]:
            if self.score[p] > 0:
                self.hot_for[p] = self.hot_for.get(p, 0) + 1
                if self.hot_for[p] > 1 and self.score[p] >= before.get(p, 0.0):
                    self.lasts[p] = True
        for p in ranked[m.capacity :]:
            self.hot_for[p], self.lasts[p] = 0, False
        risers = [p for p in ranked[: m.capacity] if not m.fast[p] and self.lasts.get(p) and self.score[p] > 0]
        fallers = [p for p in reversed(ranked[m.capacity :]) if m.fast[p]]
        cost = (m.page_size / slow.read + m.page_size / slow.write) * 6.0 + 2.0 * m.machine.migration_stall
        knee = slow.write / 6.0
        threads = max(1.0, (knee - bandwidth) / knee * 4.0 // 1)
        fits = m.state["time"] / cost * threads / m.weight
        gap = m.state["memory.slow_latency"] - m.state["memory.fast_latency"]
        free = m.capacity - sum(m.fast.values())
        for n, p in enumerate(risers):
            if n + 1 > fits:
                return risers[:n], fallers
            gain = self.score[p]
            if n >= free:
                if n - free >= len(fallers):
                    return risers[:n], fallers
                other = fallers[n - free]
                gain -= self.score[other]
                if min(self.quick[p], self.slow[p]) < max(self.quick[other], self.slow[other]):
                    return risers[:n], fallers
            if gain * self.hot_for[p] * (m.period * gap) < 1.5 * cost:
                return risers[:n], fallers
        return risers, fallers
