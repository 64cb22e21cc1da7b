"""The LLVM IR that answers a statistic. `streams` says what each one means."""

from __future__ import annotations

from vulcan.anvil import program as p
from vulcan.anvil.native.llvm_builder import constant
from vulcan.anvil.native.llvm_memory import Memory
from vulcan.anvil.native.llvm_populations import percentile
from vulcan.anvil.statistic_slots import Base, Part, base_of, table_bits


def answer(w: Memory, statistic: p.Statistic) -> str:
    """The register of a statistic that looks for nothing.

    Where a stream has observed nothing, its parts hold what is `unknown`, so that no case is made of it here.
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


def occurrences(w: Memory, statistic: p.Statistic, value: str) -> str:
    """The register of a statistic that looks for the value."""
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
    return w.let(f"uitofp i1 {w.compare('une', found, constant(0.0))} to double")


def _base(w: Memory, statistic: p.Statistic) -> Base:
    return base_of(statistic, w.context.signature.occasions)


def back(w: Memory, observations: str, steps: int, length: int) -> str:
    """Where the ring has the observation so many steps back; where there are fewer, a place not yet taken."""
    return w.let(f"urem i64 {w.let(f'add i64 {observations}, {length - steps}')}, {length}")


def at_most(w: Memory, count: str, most: int) -> str:
    return w.let(f"select i1 {w.let(f'icmp ult i64 {count}, {most}')}, i64 {count}, i64 {most}")


def at_least_one(w: Memory, count: str) -> str:
    return w.let(f"select i1 {w.let(f'icmp sgt i64 {count}, 1')}, i64 {count}, i64 1")


def number(w: Memory, count: str) -> str:
    return w.let(f"sitofp i64 {count} to double")
