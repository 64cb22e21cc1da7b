"""The engine in plain Python: slow, with sorted lists and dictionaries, and simple enough to be seen right."""

from __future__ import annotations

from vulcan.anvil import Policy

MULTIPLIER = 6364136223846793005


class PlainMemory:
    """`loads`, `stores`, `reads` and `writes` have a row an interval; pages are in the order of their first touch."""

    def __init__(self, loads, stores, reads, writes, machine, page_size, overlap, compute, capacity, limit, weight=1,
                 period=1):  # fmt: skip
        self.loads, self.stores, self.reads, self.writes = loads, stores, reads, writes
        self.machine, self.page_size = machine, page_size
        self.overlap, self.compute = overlap, compute
        self.capacity, self.limit, self.weight, self.period = capacity, limit, weight, period
        self.fast: dict[int, bool] = {}  # of the mapped pages
        self.promoted = self.demoted = 0
        self.moves = 0
        self.time = 0.0
        self.counted = dict.fromkeys(("time", "accesses", "hits", "promotions", "demotions", "slow_bytes"), 0.0)
        self.state: dict[str, float] = {}

    def arrivals(self, interval):
        return [
            page
            for page in range(len(self.loads[0]))
            if page not in self.fast and (self.loads[interval][page] or self.stores[interval][page])
        ]

    def place(self, page):
        """Where a new page goes."""
        return sum(self.fast.values()) < self.capacity

    def run(self, decider, first, last):
        for interval in range(last):
            for page in self.arrivals(interval):
                self.fast[page] = self.place(page)
            self.serve(interval, interval >= first)
            if interval + 1 < last:
                self.exchange(*decider(interval))
                getattr(decider, "moved_pages", lambda: None)()
        return self.counted

    def serve(self, interval, counts):
        w, m = float(self.weight), self.machine
        loads = {tier: w * sum(self.loads[interval][p] for p, f in self.fast.items() if f == tier) for tier in (1, 0)}
        stores = {tier: w * sum(self.stores[interval][p] for p, f in self.fast.items() if f == tier) for tier in (1, 0)}
        up, down = w * self.promoted, w * self.demoted
        busy = {
            1: (64.0 * loads[1] + self.page_size * down) / m.fast.read
            + (64.0 * stores[1] + self.page_size * up) / m.fast.write,
            0: (64.0 * loads[0] + self.page_size * up) / m.slow.read
            + (64.0 * stores[0] + self.page_size * down) / m.slow.write,
        }
        latency = {1: m.fast.latency, 0: m.slow.latency}
        time = self.solve(loads, busy, latency, up + down)
        hits = loads[1] + stores[1]
        accesses = hits + (loads[0] + stores[0])
        moved = self.page_size * (up + down)
        slow_bytes = 64.0 * (loads[0] + stores[0]) + moved
        self.state = {
            "time": time,
            "memory.migrations": up + down,
            "memory.fast_bandwidth": (64.0 * hits + moved) / time if time else 0.0,
            "memory.slow_bandwidth": slow_bytes / time if time else 0.0,
            "memory.fast_latency": self.loaded(latency[1], busy[1], time),
            "memory.slow_latency": self.loaded(latency[0], busy[0], time),
            "memory.fast_share": hits / accesses if accesses else 0.0,
        }
        if counts:
            measured = (time, accesses, hits, up, down, slow_bytes)
            for name, value in zip(self.counted, measured, strict=True):
                self.counted[name] += value

    def solve(self, loads, busy, latency, migrations):
        """The least T that is not below what the interval takes at the load that T means."""
        m = self.machine
        base = self.compute / m.threads * (loads[1] + loads[0]) + m.migration_stall * migrations
        idle = {tier: loads[tier] * latency[tier] / (m.threads * self.overlap) for tier in (1, 0)}

        def suffices(time):
            needed = base
            for tier in (1, 0):
                if idle[tier] > 0.0:
                    if time <= busy[tier]:
                        return False
                    needed += idle[tier] + idle[tier] * (m.queueing * (busy[tier] / (time - busy[tier])))
            return time >= needed

        low = max(base + idle[1] + idle[0], busy[1], busy[0])
        if low == 0.0 or suffices(low):
            return low
        high = 2.0 * low
        while not suffices(high):
            low, high = high, 2.0 * high
        while low < (middle := low + 0.5 * (high - low)) < high:
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high

    def loaded(self, latency, busy, time):
        if busy == 0.0:
            return latency
        if busy >= time:
            return 1e6
        return min(latency + latency * (self.machine.queueing * (busy / (time - busy))), 1e6)

    def exchange(self, risers, fallers):
        """`risers` are pages of the slow tier, the best first; `fallers` of the fast one, the worst first."""
        free = self.capacity - sum(self.fast.values())
        ups, downs = [], []
        for page in risers:
            copies = len(ups) + len(downs)
            if len(ups) < free:
                if copies + 1 > self.limit:
                    break
            else:
                if copies + 2 > self.limit or len(downs) == len(fallers):
                    break
                downs.append(fallers[len(downs)])
            ups.append(page)
        for page in sorted(downs):
            self.fast[page] = False
            self.moves = (self.moves * MULTIPLIER + 2 * page + 1) % 2**64
        for page in sorted(ups):
            self.fast[page] = True
            self.moves = (self.moves * MULTIPLIER + 2 * page + 2) % 2**64
        self.promoted, self.demoted = len(ups), len(downs)

    def by_rank(self, score):
        """Risers and fallers where the pages with the highest scores, as many as fit, belong in the fast tier."""
        ranked = sorted(self.fast, key=lambda page: (-score[page], page))
        best = ranked[: self.capacity]
        return [p for p in best if not self.fast[p]], [p for p in reversed(ranked) if self.fast[p] and p not in best]


class PlainRanking:
    """The mechanism `full`: calls a policy's reference interpreter."""

    def __init__(self, policy: Policy, memory: PlainMemory) -> None:
        self.run = policy.reference()
        self.memory = memory
        self.last_access: dict[int, int] = {}
        self.arrival: dict[int, int] = {}
        self.moved: dict[int, int] = {}
        self.was_fast: dict[int, bool] = {}

    def __call__(self, interval):
        m = self.memory
        everywhere = {
            "now": interval,
            "memory.pages": len(m.fast) * m.weight,
            "memory.fast_capacity": m.capacity * m.weight,
            **m.state,
        }
        self.run.observe_occasion("interval", everywhere)
        shown = {}
        for page, fast in m.fast.items():
            reads, writes = m.reads[interval][page], m.writes[interval][page]
            self.arrival.setdefault(page, interval)
            self.last_access.setdefault(page, interval)
            if reads or writes:
                self.last_access[page] = interval
            if self.was_fast.get(page) != fast:
                self.moved[page] = interval
            self.was_fast[page] = fast
            shown[page] = everywhere | {
                "page.id": page,
                "page.accesses": reads + writes,
                "page.reads": reads,
                "page.writes": writes,
                "page.last_access": self.last_access[page],
                "page.arrival": self.arrival[page],
                "page.fast": fast,
                "page.moved": self.moved[page],
            }
            self.run.observe(page, shown[page])
        self.run.handle("on_tick", everywhere)
        for page in sorted(m.fast):
            self.run.handle("on_page", shown[page], page)
        score = {page: min(max(self.run(shown[page], page), -1e300), 1e300) for page in m.fast}
        self.shown = shown
        return m.by_rank(score)

    def moved_pages(self) -> None:
        """Report the pages whose tier has changed since the policy was asked."""
        for page, shown in sorted(self.shown.items()):
            if self.memory.fast[page] != shown["page.fast"]:
                self.run.handle("on_move", shown, page)
