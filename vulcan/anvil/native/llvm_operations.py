"""The LLVM IR of each operation of the grammar table, guarded where its operands' bounds call for it."""

from __future__ import annotations

from collections.abc import Callable

from vulcan.anvil.flow import intervals
from vulcan.anvil.native.llvm_builder import Builder, Operand, constant

Emit = Callable[..., str]


def _arithmetic(instruction: str, operation: str) -> Emit:
    def emit(w: Builder, a: Operand, b: Operand) -> str:
        return w.saturated(w.op(instruction, a[0], b[0]), intervals.OPERATION_BOUNDS[operation](a[1], b[1]))

    return emit


def _unless_zero(w: Builder, divisor: Operand, result: str) -> str:
    if not divisor[1].has_zero:
        return result
    return w.select(w.compare("une", divisor[0], constant(0.0)), result, constant(0.0))


def _divide(w: Builder, a: Operand, b: Operand) -> str:
    quotient = w.saturated(w.op("fdiv", a[0], b[0]), intervals.OPERATION_BOUNDS["divide"](a[1], b[1]))
    return _unless_zero(w, b, quotient)


def _remainder(w: Builder, a: str, b: str) -> tuple[str, str, str]:
    """CPython's remainder of floats; with it fmod's, and whether the two differ by b."""
    rest = w.libm("fmod", a, b)
    below, negative = w.compare("olt", rest, constant(0.0)), w.compare("olt", b, constant(0.0))
    differ = w.let(f"xor i1 {below}, {negative}")
    some = w.compare("une", rest, constant(0.0))
    moved = w.let(f"and i1 {some}, {differ}")
    signed = w.select(some, rest, w.intrinsic("copysign", constant(0.0), b))
    return w.select(moved, w.op("fadd", rest, b), signed), rest, moved


def _modulo(w: Builder, a: Operand, b: Operand) -> str:
    return _unless_zero(w, b, _remainder(w, a[0], b[0])[0])


def _floor_divide(w: Builder, a: Operand, b: Operand) -> str:
    _, rest, moved = _remainder(w, a[0], b[0])
    quotient = w.op("fdiv", w.op("fsub", a[0], rest), b[0])
    quotient = w.select(moved, w.op("fsub", quotient, constant(1.0)), quotient)
    floored = w.intrinsic("floor", quotient)
    short = w.compare("ogt", w.op("fsub", quotient, floored), constant(0.5))
    floored = w.select(short, w.op("fadd", floored, constant(1.0)), floored)
    zero = w.intrinsic("copysign", constant(0.0), w.op("fdiv", a[0], b[0]))
    result = w.select(w.compare("une", quotient, constant(0.0)), floored, zero)
    return _unless_zero(w, b, w.saturated(result, intervals.OPERATION_BOUNDS["floor_divide"](a[1], b[1])))


def _power(w: Builder, a: Operand, b: Operand) -> str:
    result = w.libm("pow", a[0], b[0])
    result = w.saturated(result, intervals.OPERATION_BOUNDS["power"](a[1], b[1]))
    if a[1].low >= 0.0 and not (a[1].has_zero and b[1].low < 0.0):
        return result
    none = w.let(f"and i1 {w.compare('oeq', a[0], constant(0.0))}, {w.compare('olt', b[0], constant(0.0))}")
    fraction = w.compare("une", b[0], w.intrinsic("floor", b[0]))
    complex_ = w.let(f"and i1 {w.compare('olt', a[0], constant(0.0))}, {fraction}")
    return w.select(w.let(f"or i1 {none}, {complex_}"), constant(0.0), result)


def _extreme(predicate: str) -> Emit:
    def emit(w: Builder, *operands: Operand) -> str:
        result = operands[0][0]
        for value, _ in operands[1:]:
            result = w.select(w.compare(predicate, value, result), value, result)
        return result

    return emit


def _fold(take_second_where: str) -> Emit:
    def emit(w: Builder, *operands: Operand) -> str:
        result = operands[0][0]
        for value, _ in operands[1:]:
            result = w.select(w.compare(take_second_where, result, constant(0.0)), value, result)
        return result

    return emit


def _rounding(intrinsic: str) -> Emit:
    return lambda w, a: w.intrinsic(intrinsic, a[0])


def _library(function: str) -> Emit:
    return lambda w, a: w.libm(function, a[0])


def _above(function: str, least: float) -> Emit:
    """A function that is 0 at and below `least`."""

    def emit(w: Builder, a: Operand) -> str:
        result = w.intrinsic("sqrt", a[0]) if function == "sqrt" else w.libm(function, a[0])
        if a[1].low > least:
            return result
        return w.select(w.compare("ogt", a[0], constant(least)), result, constant(0.0))

    return emit


def _exponential(function: str) -> Emit:
    return lambda w, a: w.saturated(w.libm(function, a[0]), intervals.OPERATION_BOUNDS[function](a[1]))


EMIT: dict[str, Emit] = {
    "add": _arithmetic("fadd", "add"),
    "subtract": _arithmetic("fsub", "subtract"),
    "multiply": _arithmetic("fmul", "multiply"),
    "divide": _divide,
    "floor_divide": _floor_divide,
    "modulo": _modulo,
    "power": _power,
    "negate": lambda w, a: w.let(f"fneg double {a[0]}"),
    "plus": lambda w, a: a[0],
    "and": _fold("une"),
    "or": _fold("oeq"),
    "min": _extreme("olt"),
    "max": _extreme("ogt"),
    "abs": _rounding("fabs"),
    "round": _rounding("roundeven"),
    "trunc": _rounding("trunc"),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "sqrt": _above("sqrt", 0.0),
    "log": _above("log", 0.0),
    "log2": _above("log2", 0.0),
    "log10": _above("log10", 0.0),
    "log1p": _above("log1p", -1.0),
    "exp": _exponential("exp"),
    "expm1": _exponential("expm1"),
    "tanh": _library("tanh"),
    "atan": _library("atan"),
    "sin": _library("sin"),
    "cos": _library("cos"),
}
