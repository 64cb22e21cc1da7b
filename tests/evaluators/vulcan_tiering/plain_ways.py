"""The known ways to place pages in plain Python, from their descriptions."""

from __future__ import annotations

from collections import Counter

from plain_tiering import PlainMemory


def way_of(name: str, memory: PlainMemory):
    return {"first-touch": lambda _: lambda interval: ([], []), "static-oracle": lambda _: lambda interval: ([], []),
            "tpp": Tpp, "hemem": Hemem, "memtis-like": Memtis, "arms-like": Arms}[name](memory)  # fmt: skip


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


class Arms(Way):
    def __init__(self, memory):
        super().__init__(memory)
        self.averages = {}

    def __call__(self, interval):
        for p, count in self.samples(interval).items():
            first = p not in self.averages
            fast, slow = (count, count) if first else self.averages[p]
            self.averages[p] = fast + 0.6667 * (count - fast), slow + 0.0952 * (count - slow)
        return self.memory.by_rank({p: 0.731 * fast + 0.269 * slow for p, (fast, slow) in self.averages.items()})
