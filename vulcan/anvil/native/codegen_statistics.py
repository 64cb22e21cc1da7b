"""LLVM codegen for statistics: their updates when an entity enters, is touched or leaves, and their values.

`statistic_semantics` defines the meaning of each statistic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vulcan.anvil import ir, log_buckets
from vulcan.anvil.native.llvm_builder import ENTRY_ARGUMENTS, Context, Memory, constant, role_at
from vulcan.anvil.state_layout import (
    ANSWER,
    ANSWERED,
    CURSOR,
    HEADER,
    OBSERVATIONS,
    Base,
    Part,
    base_at,
    base_of,
    table_bits,
)


def observe(w: Memory) -> None:
    """Update the bucket that counts an entity; usually it has not changed."""
    for bucket in _buckets(w):
        place = w.part("entity", bucket)
        old, new = w.load_word(place), _bucket_of(w, bucket.feature)
        moved, after = w.label(), w.label()
        w.fork(w.let(f"icmp ne i64 {old}, {new}"), moved, after)
        w.start(moved)
        w.call("anvil_population_move", f"i64 {_address(w, bucket.feature)}", f"i64 {old}", f"i64 {new}")
        w.store_word(new, place)
        w.jump(after)
        w.start(after)


def remove(w: Memory) -> None:
    """Remove an entity from all populations."""
    for bucket in _buckets(w):
        old = w.load_word(w.part("entity", bucket))
        w.call("anvil_population_move", f"i64 {_address(w, bucket.feature)}", f"i64 {old}", "i64 0")


def percentile(w: Memory, statistic: ir.Statistic) -> str:
    """Emit a percentile; the cursor's last answer is reused while the population has not changed."""
    population = Part("population", statistic.feature)
    cursors = [s for s in w.context.plan.percentiles if s.feature == statistic.feature]
    at = HEADER + CURSOR * cursors.index(statistic)
    known, search, after = w.label(), w.label(), w.label()
    answered = w.load_word(w.part("system", population, at + ANSWERED))
    w.fork(w.let(f"icmp ne i64 {answered}, 0"), known, search)
    w.start(known)
    kept = w.load(w.part("system", population, at + ANSWER))
    w.jump(after)
    w.start(search)
    address, share = _address(w, statistic.feature), constant(statistic.arguments[0])
    found = w.call("anvil_population_percentile", f"i64 {address}", f"i64 {at}", f"double {share}")
    w.jump(after)
    w.start(after)
    return w.let(f"phi double [ {kept}, %{known} ], [ {found}, %{search} ]")


def _buckets(w: Memory) -> tuple[Part, ...]:
    return w.context.blocks["entity"].of_kind("bucket")


def _address(w: Memory, feature: str) -> str:
    return w.address("system", Part("population", feature))


def _bucket_of(w: Memory, feature: str) -> str:
    """Emit the number, from 1, of `log_buckets.bucket_of`'s bucket, clamped to the population's range."""
    shape, value = w.context.shapes[feature], w.feature(feature)
    magnitude = w.intrinsic("fabs", value)
    leading = w.let(f"lshr i64 {w.let(f'bitcast double {magnitude} to i64')}, {52 - shape.resolution}")
    bucket = w.let(f"sub i64 {leading}, {log_buckets.first_bucket(shape.resolution)}")
    if shape.low < 0.0:
        below = w.compare("olt", value, constant(0.0))
        bucket = w.let(f"select i1 {below}, i64 {w.let(f'sub i64 0, {bucket}')}, i64 {bucket}")
    some = w.compare("oge", magnitude, constant(2.0**log_buckets.MIN_EXPONENT))
    bucket = w.let(f"sub i64 {w.let(f'select i1 {some}, i64 {bucket}, i64 0')}, {shape.lowest - 1}")
    bucket = w.let(f"select i1 {w.let(f'icmp slt i64 {bucket}, 1')}, i64 1, i64 {bucket}")
    last = shape.buckets
    return w.let(f"select i1 {w.let(f'icmp sgt i64 {bucket}, {last}')}, i64 {last}, i64 {bucket}")


def answer(w: Memory, statistic: ir.Statistic) -> str:
    """Return the register of a statistic other than `count` and `contains`.

    The parts of a stream without observations hold `unknown`, so that case needs no code here.
    """
    if statistic.scope == "population":
        return percentile(w, statistic)
    base, feature, arguments = _base(w, statistic), statistic.feature, statistic.arguments
    match statistic.kind:
        case "latest" | "avg" | "min" | "max" | "ewma" as kind:
            return w.load(w.part(base, Part(kind, feature, *arguments)))
        case "recent":
            ring = Part("ring", feature)
            return w.item(base, ring, back(w, w.observations(base), int(arguments[0]), w.length(base, ring)))
        case "window_avg":
            total = w.load(w.part(base, Part("sum", feature, arguments[0])))
            count = at_least_one(w, at_most(w, w.observations(base), int(arguments[0])))
            return w.op("fdiv", total, number(w, count))
        case "window_percentile":
            share, window = arguments
            count = number(w, at_most(w, w.observations(base), int(window)))
            rank = w.intrinsic("ceil", w.op("fmul", constant(share), count))
            index = w.let(f"sub i64 {at_least_one(w, w.let(f'fptosi double {rank} to i64'))}, 1")
            return w.item(base, Part("sorted", feature, window), index)
    raise AssertionError(statistic)


def occurrences(w: Memory, statistic: ir.Statistic, value: str) -> str:
    """Return the register of a statistic that looks for the value."""
    base = _base(w, statistic)
    window = statistic.arguments[-1]
    if base != "entity":
        table = w.address(base, Part("table", statistic.feature, window))
        found = w.call("anvil_table_count", f"i64 {table}", f"i64 {table_bits(window)}", f"double {value}")
    else:
        ring = Part("ring", statistic.feature)
        length, seen = w.length(base, ring), w.observations(base)
        count = at_most(w, seen, int(window))
        start = w.let(f"urem i64 {w.let(f'sub i64 {seen}, {count}')}, {length}") if length > window else "0"
        found = w.call(
            "anvil_ring_count",
            f"i64 {w.address(base, ring)}", f"i64 {start}", f"i64 {count}", f"i64 {length}", f"double {value}",
        )  # fmt: skip
    if statistic.kind == "count":
        return found
    return w.number_of(w.compare("une", found, constant(0.0)))


def _base(w: Memory, statistic: ir.Statistic) -> Base:
    return base_of(statistic, w.context.signature.occasions)


def back(w: Memory, observations: str, steps: int, length: int) -> str:
    """Emit the ring index of the observation `steps` back; an unused slot if there are fewer observations."""
    return w.let(f"urem i64 {w.let(f'add i64 {observations}, {length - steps}')}, {length}")


def at_most(w: Memory, count: str, most: int) -> str:
    return w.let(f"select i1 {w.let(f'icmp ult i64 {count}, {most}')}, i64 {count}, i64 {most}")


def at_least_one(w: Memory, count: str) -> str:
    return w.let(f"select i1 {w.let(f'icmp sgt i64 {count}, 1')}, i64 {count}, i64 1")


def number(w: Memory, count: str) -> str:
    return w.let(f"sitofp i64 {count} to double")


MAX_SHORT = 8
"""Slots up to which a part is restored whole when its entity leaves; of longer parts, only the slots in use are."""


def events(context: Context) -> list[str]:
    """Return the functions of the events and occasions that affect the plan's statistics, and their constants.

    An event of the system is an `update` if the task has no entity.
    """
    occasions = context.plan.occasion_blocks(context.signature)
    made = [_function(context, role_at(name), partial(_observe, base=base_at(name))) for name in occasions]
    if context.state.fields:
        made.append(_function(context, "release", _release))
    if not (context.blocks["entity"].slots or context.blocks["system"].slots):
        return made
    made.append(_function(context, "update", _update))
    entity = context.blocks["entity"].lengths
    if context.signature.entity is not None:
        if OBSERVATIONS in entity or all(part.kind == "bucket" for part in entity):
            context.symbols["enter"] = context.symbols["update"]  # which detects the first observation by its count
        else:
            made.append(_function(context, "enter", _enter))
    if entity:
        made += [_initial(context), _function(context, "leave", _leave)]
    return made


def _function(context: Context, role: str, body: Callable[[Memory], None]) -> str:
    w = Memory(context)
    body(w)
    lines = "\n".join(w.lines)
    return f"define void @{context.symbol(role)}({ENTRY_ARGUMENTS}) nounwind {{\nentry:\n{lines}\n  ret void\n}}"


def _release(w: Memory) -> None:
    parameters = dict(w.context.program.parameters)
    for variable in w.context.state.variables:
        if variable.is_field:
            w.store(constant(variable.value(parameters)), w.cell(variable.name))


def _enter(w: Memory) -> None:
    for part in w.context.blocks["entity"].lengths:
        if part.kind != "bucket":  # the others start with the first observation
            w.store(w.feature(part.feature), w.part("entity", part))
    observe(w)
    _observe(w, "system")


def _update(w: Memory) -> None:
    _observe(w, "entity")
    observe(w)
    _observe(w, "system")


def _leave(w: Memory) -> None:
    remove(w)
    block = w.context.blocks["entity"]
    short = sum(length for length in block.lengths.values() if length <= MAX_SHORT)
    long = [part for part, length in block.lengths.items() if length > MAX_SHORT]
    seen = w.observations("entity") if long else ""
    _restore(w, 0, str(short))
    for part in long:  # they fill up from their first slot
        _restore(w, block.starts[part], at_most(w, seen, block.lengths[part]))


def _restore(w: Memory, start: int, slots: str) -> None:
    """Restore `slots` slots from `start` on to their initial values."""
    size = w.let(f"shl i64 {slots}, 3")
    source, place = w.element(f"@{_initial_name(w.context)}", start), w.element("%statistics", start)
    w.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr {source}, i64 {size}, i1 false)")


def _initial(context: Context) -> str:
    """Emit the initial block of an entity as a constant."""
    values = context.plan.entity_block.initial(dict(context.signature.features()), context.shapes)
    numbers = ", ".join(f"double {constant(value)}" for value in values)
    return f"@{_initial_name(context)} = private unnamed_addr constant [{len(values)} x double] [{numbers}]"


def _initial_name(context: Context) -> str:
    return f"{context.prefix}_initial"


def _observe(w: Memory, base: Base) -> None:
    _Observation(w, base).write()


class _Observation:
    """Codegen of an observation of all streams of a block.

    It handles the first observation if the block counts its observations; otherwise it is always a later one.
    """

    def __init__(self, w: Memory, base: Base) -> None:
        self.w = w
        self.base = base
        self.block = w.context.blocks[base]
        self.before = w.observations(base) if OBSERVATIONS in self.block.lengths else ""
        self.first = w.let(f"icmp eq i64 {self.before}, 0") if self.before else ""

    def write(self) -> None:
        if self.before:
            self.after = self.w.let(f"add i64 {self.before}, 1")
            self.w.store_word(self.after, self.w.part(self.base, OBSERVATIONS))
        for part in self.block.lengths:
            match part.kind:
                case "latest":
                    self.w.store(self.w.feature(part.feature), self.w.part(self.base, part))
                case "avg" | "min" | "max" | "ewma":
                    self.number(part)
                case "sum":
                    self.sum(part)
                case "sorted":
                    window = int(part.argument)
                    self.window(part, "anvil_sorted", at_most(self.w, self.before, window))
                case "table":
                    self.window(part, "anvil_table", str(table_bits(part.argument)))
        for ring in self.block.of_kind("ring"):
            self.ring(ring)
        for part in self.block.of_kind("sum"):
            self.renew(part)

    def number(self, part: Part) -> None:
        """Update a part that is one number; its first value is the first observation."""
        w, place = self.w, self.w.part(self.base, part)
        value, old = w.feature(part.feature), w.load(place)
        match part.kind:
            case "avg":
                new = w.op("fadd", old, w.op("fdiv", w.op("fsub", value, old), number(w, self.after)))
            case "ewma":
                new = w.op("fadd", old, w.op("fmul", constant(part.argument), w.op("fsub", value, old)))
            case "min":
                new = w.select(w.compare("olt", value, old), value, old)
            case _:
                new = w.select(w.compare("ogt", value, old), value, old)
        w.store(self.unless_first(new, value), place)

    def sum(self, part: Part) -> None:
        w, place = self.w, self.w.part(self.base, part)
        old = self.unless_first(w.load(place), constant(0.0))
        leaving = w.select(self.is_full(part), self.leaving(part), constant(0.0))
        w.store(w.op("fadd", w.op("fsub", old, leaving), w.feature(part.feature)), place)

    def window(self, part: Part, functions: str, argument: str) -> None:
        """Call the runtime function that inserts the observation, replacing the one that leaves a full window."""
        w = self.w
        address, value = w.address(self.base, part), w.feature(part.feature)
        replace, insert, after = w.label(), w.label(), w.label()
        w.fork(self.is_full(part), replace, insert)
        w.start(replace)
        leaving = self.leaving(part)
        w.call(f"{functions}_replace", f"i64 {address}", f"i64 {argument}", f"double {leaving}", f"double {value}")
        w.jump(after)
        w.start(insert)
        w.call(f"{functions}_insert", f"i64 {address}", f"i64 {argument}", f"double {value}")
        w.jump(after)
        w.start(after)

    def ring(self, ring: Part) -> None:
        w = self.w
        index = w.let(f"urem i64 {self.before}, {self.block.lengths[ring]}")
        place = w.let(f"getelementptr double, ptr {w.part(self.base, ring)}, i64 {index}")
        w.store(w.feature(ring.feature), place)

    def renew(self, part: Part) -> None:
        """Recompute the sum of n every n observations, so that rounding errors do not accumulate."""
        w, window, ring = self.w, int(part.argument), Part("ring", part.feature)
        length = self.block.lengths[ring]
        due, after = w.label(), w.label()
        w.fork(w.let(f"icmp eq i64 {w.let(f'urem i64 {self.after}, {window}')}, 0"), due, after)
        w.start(due)
        address, start = w.address(self.base, ring), back(w, self.after, window, length)
        total = w.call("anvil_ring_sum", f"i64 {address}", f"i64 {start}", f"i64 {window}", f"i64 {length}")
        w.store(total, w.part(self.base, part))
        w.jump(after)
        w.start(after)

    def is_full(self, part: Part) -> str:
        return self.w.let(f"icmp uge i64 {self.before}, {int(part.argument)}")

    def leaving(self, part: Part) -> str:
        """Emit the observation that leaves a full window."""
        ring = Part("ring", part.feature)
        return self.w.item(self.base, ring, back(self.w, self.before, int(part.argument), self.block.lengths[ring]))

    def unless_first(self, value: str, otherwise: str) -> str:
        return self.w.select(self.first, otherwise, value) if self.first else value
