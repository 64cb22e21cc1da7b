"""The simulator of transaction schedules: locks as in the public benchmark's evaluator, and workloads of its shapes."""

import json
import marshal
import random
import struct
from bisect import bisect_right
from pathlib import Path

from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance
from vulcan.python_policy.policy import ProgramFailed

COUNT = 100  # transactions of a generated workload

# This text runs in the program's process, so nothing that it says is believed.
LOOP = marshal.dumps(
    compile(
        """
import struct
class Loop:
    def __init__(self, hooks, records, given):
        self.hooks, self.operation, self.count = hooks, records["add"], given[0]
    def decisions(self, message, whole):
        for row in struct.iter_unpack("<5q", message):
            self.hooks["add"](self.operation(row))
        return [whole(self.hooks["next"](slot)) for slot in range(self.count)]
""",
        "<loop>",
        "exec",
    )
)


def mixed(draw):
    """Sixteen reads and writes in about the same order in all, of hot keys in most places and cold ones in some."""
    hot = (5, 4, 3, 14, 10, 6, 11, 16, 7, 1, 8, 9, 12, 2, 21, 15)
    places = sorted(range(len(hot)), key=lambda place: place + 2 * draw.gauss(0, 1))
    return [f"{draw.choice('rw')}-{hot[n] if draw.random() < 0.8 else draw.randint(17, 1200)}" for n in places]


def orders(draw):
    """An order from one of ten districts of a warehouse, with long other work, or a change of both."""
    warehouse, district = draw.randint(1, 4), draw.randint(1, 10)
    key = 10 * warehouse + district
    if draw.random() < 0.5:
        return [f"r-{warehouse}", f"r-{key}", f"w-{key}", *["*"] * 18]
    return [f"w-{warehouse}", "*", f"w-{key}", "*", "*"]


def apart(draw):
    """One key is used at the beginning, and another written at the end."""
    return [f"{'w' if draw.random() < 0.3 else 'r'}-{draw.randint(1, 10)}", *["*"] * 7, f"w-{draw.randint(1, 10)}"]


SHAPES = {"mixed": mixed, "orders": orders, "apart": apart}


def workload_of(shape, seed):
    draw = random.Random(f"{shape} {seed}")
    return [" ".join(SHAPES[shape](draw)) for _ in range(COUNT)]


def operations(workload):
    """Of each transaction, how many steps it takes, and its (key, step, is a write); `*` is work without a lock."""
    split = [text.split() for text in workload]
    return [
        (len(steps), [(int(step[2:]), n, step[0] == "w") for n, step in enumerate(steps, 1) if step != "*"])
        for steps in split
    ]


def makespan(transactions, order):
    """The step at which the last ends, where each begins as soon as those before it in the order let it."""
    locks, last = {}, 0
    for number in order:
        length, steps = transactions[number]
        start = 1
        for key, step, write in steps:
            held = locks.get(key, [])
            if held and (write or held[-1][1]):
                start = max(start, held[-1][0] + 2 - step)
            elif held:
                start = max(start, max((at + 1 for at, written in held if written), default=0) + 1 - step)
        last = max(last, start + length - 1)
        for key, step, write in steps:
            held = locks.setdefault(key, [])
            held.insert(bisect_right(held, start + step - 1, key=lambda lock: lock[0]), (start + step - 1, write))
    return last


def greedy(transactions):
    """The benchmark's first program: of ten drawn, the one after which the schedule is shortest so far."""
    draw, left, order = random.Random(42), list(range(len(transactions))), []
    while left:
        tried = draw.sample(left, min(10, len(left)))
        order.append(min(tried, key=lambda number: makespan(transactions, [*order, number])))
        left.remove(order[-1])
    return order


BASELINES = {"greedy": greedy, "in_turn": lambda transactions: list(range(len(transactions)))}


class TransactionsEvaluator(Evaluator):
    def instances(self, settings, split):
        named = settings["workloads"]
        made = [Instance(f"{shape}-{seed}", part, {"workload": workload_of(shape, seed)})
                for part, seeds in (("train", (1, 2)), ("validation", (3, 4)), ("test", (5, 6)))
                for seed in seeds for shape in SHAPES]  # fmt: skip
        if named is not None:  # of the public benchmark: {"txn0": "w-17 r-5 * w-3", ...}
            try:
                public = [list(json.loads(Path(name).read_text()).values()) for name in named]
            except (OSError, ValueError, AttributeError) as error:
                raise UserError(f"--workloads: {error}; files of an object of transactions are needed") from error
            made += [Instance(Path(n).stem, "test", {"workload": w}) for n, w in zip(named, public, strict=True)]
        return made if split.by != "none" else [Instance(i.name, "train", i.parameters) for i in made]

    def prepare(self, instances):
        pass

    def evaluate(self, policy, instance):
        transactions = operations(instance.parameters["workload"])
        rows = [(n, length, *step) for n, (length, steps) in enumerate(transactions) for step in steps]
        with policy.start(LOOP, len(transactions)) as running:
            reply = running.tell(b"".join(struct.pack("<5q", *map(int, row)) for row in rows))
        return self._measured(transactions, [number for (number,) in struct.iter_unpack("<q", reply)])

    def _measured(self, transactions, order):
        if sorted(order) != list(range(len(transactions))):
            raise ProgramFailed("failed", "it does not name each transaction once")
        first, reached = makespan(transactions, BASELINES["in_turn"](transactions)), makespan(transactions, order)
        longest = max(length for length, _ in transactions)
        # 0 for those in turn; 100 for a tenth of the way from the longest alone to it, as in the public score
        return {"points": 100 * (first - reached) / (0.9 * (first - longest)), "makespan": reached}

    def baselines(self):
        return dict.fromkeys(BASELINES, "baseline")

    def evaluate_baseline(self, name, instance):
        transactions = operations(instance.parameters["workload"])
        return self._measured(transactions, BASELINES[name](transactions))
