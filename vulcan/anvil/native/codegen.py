"""LLVM codegen for functions, statements and operations.

Guards of total arithmetic are emitted only where interval analysis cannot show that they are unnecessary.
"""

from __future__ import annotations

from collections.abc import Callable

from vulcan.anvil import ir
from vulcan.anvil import semantics as total
from vulcan.anvil.analysis import intervals
from vulcan.anvil.analysis.intervals import Environment, Interval
from vulcan.anvil.native.codegen_statistics import answer, occurrences
from vulcan.anvil.native.llvm_builder import (
    ENTRY_ARGUMENTS,
    Builder,
    Context,
    Memory,
    Operand,
    constant,
    role_of_event,
)

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
    """Emit CPython's remainder of floats; also returns fmod's, and whether the two differ by b."""
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
    if b[1].low == b[1].high == 1.0:  # how a policy rounds down; fmod takes longer than all of a request
        return w.intrinsic("floor", a[0])
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
    """Return the codegen of a function that is 0 at and below `bound`."""

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
    "hash": lambda w, a, k: _hash(w, a[0], k[0]),
}


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


def _mixed(w: Builder, word: str) -> str:
    """Emit the output of splitmix64 whose state has become this word (`semantics.mix`)."""
    for shift, factor in ((30, total.FIRST_FACTOR), (27, total.SECOND_FACTOR)):
        word = w.let(f"xor i64 {word}, {w.let(f'lshr i64 {word}, {shift}')}")
        word = w.let(f"mul i64 {word}, {_signed(factor)}")
    return w.let(f"xor i64 {word}, {w.let(f'lshr i64 {word}, 31')}")


def _next(w: Builder, word: str) -> str:
    return w.let(f"add i64 {word}, {_signed(total.GOLDEN)}")


def _upper(w: Builder, word: str) -> str:
    """Emit the number of the upper 53 bits, which is exact."""
    return w.let(f"sitofp i64 {w.let(f'lshr i64 {word}, 11')} to double")


def _hash(w: Builder, a: str, k: str) -> str:
    bits, key = (w.let(f"bitcast double {w.op('fadd', x, constant(0.0))} to i64") for x in (a, k))
    key = _mixed(w, _next(w, key))
    return _upper(w, _mixed(w, _next(w, w.let(f"xor i64 {key}, {bits}"))))


MAX_INLINED = 1_000
"""Size up to which all helpers are inlined; beyond it, inlining could make the code arbitrarily large."""

MAX_CONVERTED = 2.0**62
"""Magnitude of numbers up to which they are converted to 64-bit integers."""

_TRUTHS = ("not", "truth")
_PREDICATES = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}


class Writer(Memory):
    """Codegen of one function: expressions return the name of a register, statements add lines."""

    def __init__(self, context: Context, function: ir.Function) -> None:
        super().__init__(context)
        self.of = function
        self.is_handler = function in context.program.handlers
        self.loops: list[tuple[str, str]] = []
        self.bounds = context.bounds
        self.environment: Environment = {}
        self.returned: Interval | None = None
        self.turns: list[str] = []

    # Functions and statements

    def function(self) -> str:
        is_entry = self.of in self.context.program.entries
        self.block(self.of.body)
        if self.open:
            self.put("unreachable")  # the checker ensures that every path returns
        shown = is_entry or self.is_handler
        names = sorted(ir.assigned_names(self.of.body) | (set() if shown else set(self.of.arguments)))
        head = [f"  %v.{name} = alloca double" for name in names] + [f"  {t} = alloca i64" for t in self.turns]
        if is_entry:
            opening = f"define double @{self.context.score(self.of.name)}({ENTRY_ARGUMENTS}) nounwind {{"
        elif self.is_handler:
            symbol = self.context.symbol(role_of_event(self.of.name))
            opening = f"define void @{symbol}({ENTRY_ARGUMENTS}) nounwind {{"
        else:
            arguments = ", ".join(["ptr %globals", *(f"double %a.{name}" for name in self.of.arguments)])
            inlining = "alwaysinline" if self.context.plan.inlined_size <= MAX_INLINED else "noinline"
            opening = f"define internal double @{self.helper(self.of.name)}({arguments}) nounwind {inlining} {{"
            head += [f"  store double %a.{name}, ptr %v.{name}" for name in self.of.arguments]
            self.bounds.helpers = {**self.bounds.helpers, self.of.name: self.returned or intervals.ANYTHING}
        return "\n".join((opening, "entry:", *head, *self.lines, "}"))

    def helper(self, name: str) -> str:
        return f"{self.context.prefix}_helper_{name}"

    def block(self, body: tuple[ir.Statement, ...]) -> None:
        for statement in body:
            if not self.open:
                return
            self.statement(statement)

    def statement(self, statement: ir.Statement) -> None:
        match statement:
            case ir.Assign(name, value):
                register, bounds = self.value(value)
                self.put(f"store double {register}, ptr %v.{name}")
                self.environment[name] = bounds
            case ir.Return(value):
                register, bounds = self.value(value)
                self.returned = bounds if self.returned is None else self.returned | bounds
                self.put("ret void" if self.is_handler else f"ret double {register}")
                self.open = False
            case ir.Write():
                self.store_state(statement)
            case ir.If():
                self.branch(statement)
            case ir.Loop():
                self.loop(statement)
            case ir.Break():
                self.jump(self.loops[-1][1])
            case ir.Continue():
                self.jump(self.loops[-1][0])

    def branch(self, statement: ir.If) -> None:
        then, otherwise, after = self.label(), self.label(), self.label()
        self.fork(self.truth(statement.test), then, otherwise)
        before = dict(self.environment)
        self.start(then)
        self.block(statement.then)
        then_goes_on, after_then = self.open, self.environment
        self.jump(after)
        self.environment = before
        self.start(otherwise)
        self.block(statement.otherwise)
        otherwise_goes_on = self.open
        self.jump(after)
        if then_goes_on:
            self.environment = intervals.join(after_then, self.environment) if otherwise_goes_on else after_then
        self.start(after)
        if not (then_goes_on or otherwise_goes_on):
            self.put("unreachable")
            self.open = False

    def loop(self, loop: ir.Loop) -> None:
        if not loop.trips:
            return
        head, body, step, after = (self.label() for _ in range(4))
        counter = f"%v.{loop.name}"
        turn = self.register()
        self.turns.append(turn)
        self.put(f"store i64 0, ptr {turn}")
        self.environment = self.bounds.after_loop(loop, self.environment)
        widened = dict(self.environment)
        self.jump(head)
        self.start(head)
        now = self.let(f"load i64, ptr {turn}")
        self.fork(self.let(f"icmp slt i64 {now}, {loop.trips}"), body, after)
        self.start(body)
        scaled = self.let(f"add i64 {self.let(f'mul i64 {now}, {loop.step}')}, {loop.start}")
        self.put(f"store double {self.let(f'sitofp i64 {scaled} to double')}, ptr {counter}")
        self.loops.append((step, after))
        self.block(loop.body)
        self.loops.pop()
        self.jump(step)
        self.start(step)
        self.put(f"store i64 {self.let(f'add i64 {now}, 1')}, ptr {turn}")
        self.jump(head)
        self.start(after)
        self.environment = widened

    def store_state(self, statement: ir.Write) -> None:
        """Emit a write of state: the index is computed first, then the value."""
        if statement.index is None:
            self.store(self.register_of(statement.value), self.cell(statement.name))
            return
        place = self.place(statement.name, statement.index)
        self.store(self.register_of(statement.value), place)

    def place(self, array: str, index: ir.Expression) -> str:
        """Emit a pointer to an array's element; the index is rounded down and wrapped (`semantics.wrap`)."""
        length = self.context.state.lengths[array]
        register, bounds = self.value(index)
        if not bounds.whole:
            register = self.intrinsic("floor", register)
        if bounds.magnitude > MAX_CONVERTED:
            register, bounds = _remainder(self, register, constant(length))[0], Interval(0.0, length - 1.0)
        element = self.let(f"fptosi double {register} to i64")
        if not (bounds.low >= 0.0 and bounds.high < length):
            if length & (length - 1) == 0:
                element = self.let(f"and i64 {element}, {length - 1}")
            elif bounds.low >= 0.0:
                element = self.let(f"urem i64 {element}, {length}")
            else:
                rest = self.let(f"srem i64 {element}, {length}")
                moved = self.let(f"add i64 {rest}, {length}")
                element = self.let(f"select i1 {self.let(f'icmp slt i64 {rest}, 0')}, i64 {moved}, i64 {rest}")
        return self.let(f"getelementptr double, ptr {self.cell(array)}, i64 {element}")

    def draw(self) -> str:
        """Emit the next random number (`semantics.draw`)."""
        word = _next(self, self.load_word(self.generator()))
        self.store_word(word, self.generator())
        return self.op("fmul", _upper(self, _mixed(self, word)), constant(2.0**-53))

    # Expressions

    def value(self, e: ir.Expression) -> tuple[str, Interval]:
        """Emit an expression; return its register and its bounds."""
        if not isinstance(e, ir.Operate) or e.operation in _TRUTHS:
            return self.register_of(e), self.bounds.of(e, self.environment)
        operands = [self.value(operand) for operand in e.operands]
        bounds = intervals.OPERATION_BOUNDS[e.operation](*(interval for _, interval in operands))
        return EMIT[e.operation](self, *operands), bounds

    def register_of(self, e: ir.Expression) -> str:
        match e:
            case ir.Number(value):
                return constant(value)
            case ir.Parameter(name):
                return constant(self.bounds.parameters[name].low)
            case ir.Local(name):
                return self.load(f"%v.{name}")
            case ir.Read(feature):
                return self.feature(feature)
            case ir.Query(history, query):
                return self.query(history, query)
            case ir.Statistic():
                return answer(self, e)
            case ir.Occurrences(statistic, value):
                return occurrences(self, statistic, self.register_of(value))
            case ir.Cell(name):
                return self.load(self.cell(name))
            case ir.Element(name, index):
                return self.load(self.place(name, index))
            case ir.Draw():
                return self.draw()
            case ir.Compare():
                return self.number_of(self.truth(e))
            case ir.Operate(operation) if operation in _TRUTHS:
                return self.number_of(self.truth(e))
            case ir.Choose(test, then, otherwise):
                condition = self.truth(test)
                return self.select(condition, self.register_of(then), self.register_of(otherwise))
            case ir.Call(function, arguments):
                values = [f"double {self.register_of(a)}" for a in arguments]
                return self.call(self.helper(function), "ptr %globals", *values)
            case ir.Operate():
                return self.value(e)[0]

    def truth(self, e: ir.Expression) -> str:
        """Emit an i1 that is true if the expression is not 0, if possible without computing a number."""
        match e:
            case ir.Compare(operators, operands):
                values = [self.register_of(o) for o in operands]
                tests = [
                    self.compare(_PREDICATES[op], a, b) for op, a, b in zip(operators, values, values[1:], strict=False)
                ]
                return self.all_of(tests, "and")
            case ir.Operate("and" | "or" as operation, operands):
                return self.all_of([self.truth(o) for o in operands], operation)
            case ir.Operate("not", (operand,)):
                return self.let(f"xor i1 {self.truth(operand)}, true")
            case ir.Operate("truth", (operand,)):
                return self.truth(operand)
            case _:
                return self.compare("une", self.register_of(e), constant(0.0))

    def all_of(self, tests: list[str], operation: str) -> str:
        result = tests[0]
        for test in tests[1:]:
            result = self.let(f"{operation} i1 {result}, {test}")
        return result

    def query(self, history: str, query: str) -> str:
        slots = self.context.layout.histories[history]
        remembered = self.compare("oge", self.read(slots.left), self.read(slots.oldest))
        if query == "contains":
            return self.number_of(remembered)
        if query == "count":
            return self.select(remembered, self.read(slots.count), constant(0.0))
        return self.select(remembered, self.op("fsub", self.read(slots.now), self.read(slots.left_at)), constant(0.0))
