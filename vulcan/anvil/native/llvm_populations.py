"""The LLVM IR of populations: an entity is counted, moves and is taken out; a percentile is asked."""

from __future__ import annotations

from vulcan.anvil import program as p
from vulcan.anvil import quantise
from vulcan.anvil.native.llvm_builder import constant
from vulcan.anvil.native.llvm_memory import Memory
from vulcan.anvil.population_shape import ANSWER, ANSWERED, CURSOR, HEADER
from vulcan.anvil.statistic_slots import Part


def observe(w: Memory) -> None:
    """Count an entity where it is now; mostly it is counted there."""
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
    """Take an entity out of all populations."""
    for bucket in _buckets(w):
        old = w.load_word(w.part("entity", bucket))
        w.call("anvil_population_move", f"i64 {_address(w, bucket.feature)}", f"i64 {old}", "i64 0")


def percentile(w: Memory, statistic: p.Statistic) -> str:
    """What the cursor answered last, for as long as the population has not changed."""
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
    """The number from 1 of the bucket that `quantise.bucket_of` names; kept within the population's range."""
    shape, value = w.context.shapes[feature], w.feature(feature)
    magnitude = w.intrinsic("fabs", value)
    leading = w.let(f"lshr i64 {w.let(f'bitcast double {magnitude} to i64')}, {52 - shape.resolution}")
    bucket = w.let(f"sub i64 {leading}, {quantise.first_bucket(shape.resolution)}")
    if shape.low < 0.0:
        below = w.compare("olt", value, constant(0.0))
        bucket = w.let(f"select i1 {below}, i64 {w.let(f'sub i64 0, {bucket}')}, i64 {bucket}")
    some = w.compare("oge", magnitude, constant(2.0**quantise.LEAST_EXPONENT))
    bucket = w.let(f"sub i64 {w.let(f'select i1 {some}, i64 {bucket}, i64 0')}, {shape.lowest - 1}")
    bucket = w.let(f"select i1 {w.let(f'icmp slt i64 {bucket}, 1')}, i64 1, i64 {bucket}")
    last = shape.buckets
    return w.let(f"select i1 {w.let(f'icmp sgt i64 {bucket}, {last}')}, i64 {last}, i64 {bucket}")
