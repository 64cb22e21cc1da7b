"""A policy as one C header that computes in scaled 64-bit integers, for platforms without floating point.

`vulcan.export.c.fixed_point` defines the scales.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vulcan.anvil import Policy, ir
from vulcan.anvil.analysis.intervals import OPERATION_BOUNDS, point
from vulcan.anvil.grammar import grammar
from vulcan.errors import UserError
from vulcan.export.c.fixed_point import (
    BITS,
    MAX,
    MIN,
    NumberFormat,
    NumberFormats,
    integer_bits,
    quantised,
    refusal,
    scale_of_number,
    typical_of_operation,
)
from vulcan.export.c.fixed_statistics import FixedStatistics
from vulcan.export.c.header import function, needed, origin, require_one_function, struct, struct_of_features
from vulcan.export.c.naming import feature_name, flat, helper_name, member_of, parameter_names
from vulcan.export.c.statements import Statements
from vulcan.export.c.statistic_groups import occasions
from vulcan.export.provenance import Provenance
from vulcan.task import Feature

RESULT_SCALE = 16
"""Scale of the result of `policy_score`."""
_UNIT = 60
_FACTORS = {"log": 799144290325165979, "log1p": 799144290325165979, "log2": 1 << 60, "log10": 347063955532709821}
"""Factors that convert the binary logarithm to each of the others, at scale 60."""
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_REFUSED = {"sin": "math.sin", "cos": "math.cos", "atan": "math.atan"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """A C expression that holds a value times 2**scale; `constant` is the value itself if it is a number."""

    text: str
    scale: int
    kind: NumberFormat
    constant: float | None = None

    def at(self, scale: int) -> str:
        """Return the expression at another scale."""
        if self.constant is not None:
            return integer(quantised(self.constant, scale), self.constant if scale else None)
        return self.text if scale == self.scale else f"policy_scaled({self.text}, {scale - self.scale})"


def integer(value: int, meaning: float | None = None) -> str:
    text = f"{value}LL" if abs(value) >= 2**31 else str(value)
    text = f"({text})" if value < 0 else text
    return text if meaning is None else f"{text} /* {meaning:g} */"


class FixedProgram:
    """The context shared by the functions of one program."""

    def __init__(self, program: ir.Module, kinds: NumberFormats, statistics: FixedStatistics) -> None:
        self.program = program
        self.kinds = kinds
        self.statistics = statistics
        self.parameters = parameter_names(program)

    def functions(self, opening: str, used_names: Sequence[str]) -> Iterator[str]:
        """Yield the text of each parameter and function.

        `opening` is the first line of the entry function, `used_names` the names of its arguments.
        """
        for name, value in self.program.parameters:
            made = self.number(value)
            held = integer(quantised(value, made.scale))
            yield f"#define {self.parameters[name]} {held} /* {value:g}, scale {made.scale} */"
        for helper in self.program.functions:
            writer = _Function(self, helper)
            if helper is self.program.entry:
                guard = " || ".join(f"!{name}" for name in used_names)
                yield "\n".join(writer.lines(opening, used_names, (f"if ({guard})", "    return 0;")))
                continue
            scales = [self.kinds.local(name, helper.name) for name in helper.arguments]
            names = [writer.names[name] for name in helper.arguments]
            arguments = ", ".join(
                f"policy_fixed {name} /* {_remark(kind)} */" for name, kind in zip(names, scales, strict=True)
            )
            first = f"POLICY_INLINE policy_fixed {helper_name(helper.name)}({arguments or 'void'})"
            yield "\n".join(writer.lines(f"/* returns {_remark(self.result(helper.name))} */\n{first}", names))

    def result(self, function: str) -> NumberFormat:
        return self.kinds.results.get(function, NumberFormat(self.kinds.number(0.0).bounds, 0.0))

    def number(self, value: float) -> Fixed:
        scale = scale_of_number(value)
        if scale < MIN or (scale > MAX and abs(value) < 2.0 ** (8 - MAX)):
            raise refusal(f"the number {value:g} is beyond what 64-bit integers hold beside others")
        scale = min(scale, MAX)
        return Fixed(integer(quantised(value, scale), value if scale else None), scale, self.kinds.number(value), value)


def _remark(kind: NumberFormat) -> str:
    return f"scale {kind.scale}, {kind.bounds.low:.3g} to {kind.bounds.high:.3g}"


class _Function(Statements):
    def __init__(self, shared: FixedProgram, function: ir.Function) -> None:
        super().__init__(function)
        self.shared = shared
        self.kinds = shared.kinds
        self.is_entry = function is shared.program.entry

    # Statements

    def declaration(self, name: str) -> str:
        return f"policy_fixed {self.names[name]} = 0; /* {_remark(self.kinds.local(name, self.function.name))} */"

    def scale_of(self, name: str) -> int:
        return self.kinds.local(name, self.function.name).scale

    def assigned(self, name: str, value: ir.Expression) -> str:
        return self.value(value).at(self.scale_of(name))

    def turn(self, name: str, counter: str) -> str:
        scale = self.scale_of(name)
        return f"(policy_fixed)({counter})" if scale == 0 else f"policy_scaled({counter}, {scale})"

    def returned(self, value: ir.Expression) -> str:
        scale = RESULT_SCALE if self.is_entry else self.shared.result(self.function.name).scale
        return self.value(value).at(scale)

    def compared(self, comparison: ir.Compare) -> Iterator[str]:
        values = [self.value(operand) for operand in comparison.operands]
        for operator, a, b in zip(comparison.operators, values, values[1:], strict=False):
            yield _compared(a, operator, b)

    def nonzero(self, value: ir.Expression) -> str:
        return f"{self.value(value).text} != 0"

    # Expressions

    def value(self, e: ir.Expression) -> Fixed:
        kind = self.kinds.of(e, self.function.name)
        match e:
            case ir.Number(value):
                return self.shared.number(value)
            case ir.Parameter(name):
                value = self.kinds.parameters[name]
                made = self.shared.number(value)
                return Fixed(self.shared.parameters[name], made.scale, kind, value)
            case ir.Local(name):
                return Fixed(self.names[name], kind.scale, kind)
            case ir.Read(feature):
                return Fixed(f"features->{member_of(feature)}", kind.scale, kind)
            case ir.Query(history, query):
                return Fixed(f"features->{member_of(f'{history}.{query}')}", kind.scale, kind)
            case ir.Statistic():
                text, scale = self.shared.statistics.answer(e)
                return Fixed(text, scale, kind)
            case ir.Occurrences(statistic, value):
                looked_for = self.value(value)
                return Fixed(
                    self.shared.statistics.occurrences(statistic, looked_for.text, looked_for.scale, e.at), 0, kind
                )
            case ir.Cell() | ir.Element() | ir.Draw():
                raise AssertionError(f"{e}: policies with state are refused before")
            case ir.Compare() | ir.Operate("not" | "truth"):
                return Fixed(f"({self.truth(e)} ? 1 : 0)", 0, kind)
            case ir.Choose(test, then, otherwise):
                a, b = self.value(then).at(kind.scale), self.value(otherwise).at(kind.scale)
                return Fixed(f"({self.truth(test)} ? {a} : {b})", kind.scale, kind)
            case ir.Call(function, arguments):
                wanted = self.shared.kinds.functions[function].arguments
                values = [
                    self.value(value).at(self.kinds.local(name, function).scale)
                    for name, value in zip(wanted, arguments, strict=True)
                ]
                return Fixed(f"{helper_name(function)}({', '.join(values)})", kind.scale, kind)
            case ir.Operate(operation, operands):
                return self.operation(e, operation, operands, kind)

    def operation(
        self, e: ir.Operate, operation: str, operands: tuple[ir.Expression, ...], kind: NumberFormat
    ) -> Fixed:
        if operation in _REFUSED:
            raise refusal(f"{_REFUSED[operation]} has no form in integers here", e.at)
        if operation in ("and", "or"):
            return self.folded(operation, operands, kind)
        values = [self.value(operand) for operand in operands]
        constants = [value.constant for value in values if value.constant is not None]
        if len(constants) == len(values):
            return self.shared.number(grammar.OPERATIONS[operation].evaluate(*constants))
        first, last = values[0], values[-1]
        scale = kind.scale
        match operation:
            case "add" | "subtract":
                scale = min(scale, *map(_finest, values))
                text = f"policy_{operation}({first.at(scale)}, {last.at(scale)})"
            case "multiply":
                text = f"policy_multiply({first.text}, {last.text}, {first.scale + last.scale - scale})"
            case "divide":
                text = f"policy_divide({first.text}, {last.text}, {scale - first.scale + last.scale})"
            case "floor_divide":
                text = f"policy_floor_divide({first.text}, {last.text}, {last.scale - first.scale})"
                return Fixed(text, 0, kind)
            case "modulo":
                rooms = (BITS - integer_bits(value.kind.bounds.magnitude) for value in values)
                scale = min(max(first.scale, last.scale), *rooms)
                text = f"policy_modulo({first.at(scale)}, {last.at(scale)})"
            case "min" | "max":
                text = first.at(scale)
                for value in values[1:]:
                    text = f"policy_{operation}({text}, {value.at(scale)})"
            case "negate":
                return Fixed(f"(-{first.text})", first.scale, kind)
            case "plus":
                return Fixed(first.text, first.scale, kind, first.constant)
            case "abs":
                return Fixed(f"policy_abs({first.text})", first.scale, kind)
            case "floor" | "ceil" | "trunc" | "round":
                if first.scale <= 0:
                    return Fixed(first.text, first.scale, kind)
                held = min(first.scale, BITS)
                return Fixed(f"policy_{operation}({first.at(held)}, {held})", 0, kind)
            case _:
                return self.called(operation, values, kind)
        return Fixed(text, scale, kind)

    def called(self, operation: str, values: list[Fixed], kind: NumberFormat) -> Fixed:
        first, scale = values[0], min(kind.scale, _UNIT)
        shown = f"{first.text}, {first.scale}"
        match operation:
            case "sqrt":
                text = f"policy_sqrt({shown}, {scale})"
            case "exp":
                text = f"policy_exp({shown}, {scale})"
            case "expm1":
                one = integer(quantised(1.0, scale), 1.0)
                text = f"policy_subtract(policy_exp({shown}, {scale}), {one})"
            case "tanh":
                return Fixed(f"policy_tanh({shown})", _UNIT, kind)
            case "log1p":
                held = min(first.scale, _UNIT, BITS - integer_bits(first.kind.bounds.magnitude + 1.0))
                shifted = f"policy_add({first.at(held)}, {integer(quantised(1.0, held), 1.0)})"
                text = f"policy_log({shifted}, {held}, {_FACTORS[operation]}LL, {scale})"
            case "log" | "log2" | "log10":
                text = f"policy_log({shown}, {_FACTORS[operation]}LL, {scale})"
            case "power":
                return self.power(first, values[1], kind)
            case _:
                raise AssertionError(operation)
        return Fixed(text, scale, kind)

    def power(self, base: Fixed, exponent: Fixed, kind: NumberFormat) -> Fixed:
        scale = min(kind.scale, _UNIT)
        match exponent.constant:
            case 0.5:
                text = f"policy_sqrt({base.text}, {base.scale}, {scale})"
            case 1.0:
                return base
            case 2.0:
                text = f"policy_square({base.text}, {2 * base.scale - scale})"
            case 3.0:
                square = self.power(base, Fixed("2", 0, exponent.kind, 2.0), self.square_of(base))
                rights = f"{2 * base.scale - square.scale}, {square.scale + base.scale - scale}"
                text = f"policy_cube({base.text}, {rights})"
            case -1.0:
                text = f"policy_divide(1, {base.text}, {scale + base.scale})"
            case _:
                text = f"policy_power({base.text}, {base.scale}, {exponent.text}, {exponent.scale}, {scale})"
        return Fixed(text, scale, kind)

    def square_of(self, base: Fixed) -> NumberFormat:
        bounds = OPERATION_BOUNDS["power"](base.kind.bounds, point(2.0))
        return NumberFormat(bounds, typical_of_operation("multiply", [base.kind, base.kind], bounds))

    def folded(self, operation: str, operands: tuple[ir.Expression, ...], kind: NumberFormat) -> Fixed:
        *others, last = operands
        text = self.value(last).at(kind.scale)
        if operation == "and":
            tests = " && ".join(f"({self.truth(operand)})" for operand in others)
            return Fixed(f"({tests} ? {text} : 0)", kind.scale, kind)
        for operand in reversed(others):
            value = self.value(operand)
            text = f"policy_either({value.text}, {kind.scale - value.scale}, {text})"
        return Fixed(text, kind.scale, kind)


def _finest(value: Fixed) -> int:
    """Return the finest scale at which a value does not saturate unless it already did."""
    return max(value.scale, BITS - integer_bits(value.kind.bounds.magnitude))


def _compared(a: Fixed, operator: str, b: Fixed) -> str:
    if a.text == b.text:  # which compilers warn about where they see it
        return f"policy_order({a.text}, {b.text}, 0) {operator} 0"
    if a.scale == b.scale or b.constant == 0.0 or a.constant == 0.0:
        return f"{a.text} {operator} {b.text}"
    if a.scale > b.scale:
        return f"policy_order({a.text}, {b.text}, {a.scale - b.scale}) {operator} 0"
    return f"policy_order({b.text}, {a.text}, {b.scale - a.scale}) {_FLIPPED[operator]} 0"


_ABOUT = f"""\
Use:  policy_init(&state) once; policy_set_FEATURE(&features, value, scale) for each feature, as value * 2^-scale in
the feature's unit (held within its declared range); policy_observe(&state, &features) at every event, and
policy_observe_OCCASION(...) on each occasion for which POLICY_OBSERVES_OCCASION is defined;
policy_score(&state, &features), which returns the policy's number at scale {RESULT_SCALE}: x >> {RESULT_SCALE} is its
floor.

All arithmetic is on scaled 64-bit integers and saturates: a number x of scale s stands for x * 2^-s. The scale of each
value stands beside it. They follow from the declared ranges of the features: where these leave room, a value keeps all
the bits that its range allows; else 28 bits behind the leading one of a typical value, and it saturates at 2^34 times
that. A comparison is exact, whatever the scales."""

TYPES = """\
typedef long long policy_fixed;
typedef unsigned long long policy_word;

#define POLICY_MOST 0x7fffffffffffffffLL
#define POLICY_INLINE static inline __attribute__((always_inline, unused))
#ifdef __bpf__
/* Not static: the verifier looks at each such function once, whoever calls it. */
#define POLICY_FUNCTION __attribute__((noinline))
/* Keeps the compiler from turning a loop into a call of memmove. */
#define POLICY_BARRIER __asm__ volatile("" ::: "memory")
/* Keeps it from leaving out a bound that it can show and the verifier cannot. */
#define POLICY_HIDE(x) __asm__ volatile("" : "+r"(x))
#else
#define POLICY_FUNCTION static __attribute__((unused))
#define POLICY_BARRIER
#define POLICY_HIDE(x)
#endif"""


def fixed_header(policy: Policy, provenance: Provenance, most_bytes: int | None = None) -> str:
    """Generate the text of `policy.h`.

    Raises UserError if the policy cannot be written in bounded integers, or its state would exceed `most_bytes`.
    """
    require_one_function(policy)
    kinds = NumberFormats(policy.program, policy.task.signature)
    statistics = FixedStatistics(policy.plan, policy.task.signature, kinds)
    kept = 8 * statistics.slots
    if most_bytes is not None and kept > most_bytes:
        raise UserError(
            f"the policy's statistics take {kept:,} bytes, over the {most_bytes:,} that are kept of each: ask for "
            "shorter windows"
        )
    return "\n\n".join(_parts(policy, provenance, kinds, statistics)) + "\n"


def _parts(policy: Policy, provenance: Provenance, kinds: NumberFormats, statistics: FixedStatistics) -> Iterator[str]:
    signature, plan = policy.task.signature, policy.plan
    used = {*plan.features, *(s.feature for s in plan.statistics)}
    asked = {f"{q.history}.{q.query}" for q in plan.queries}

    def member(name: str, feature: Feature) -> str | None:
        return f"policy_fixed {feature_name(name.rpartition('.')[2])};" if name in used else None

    def query(history: str, name: str) -> str | None:
        return f"policy_fixed {name};" if f"{history}.{name}" in asked else None

    shown = "struct policy_state *state, const struct policy_features *features"
    scored = f"POLICY_FUNCTION policy_fixed policy_score(const {shown})"
    functions = [
        *statistics.functions(),
        function(
            "POLICY_FUNCTION int policy_init(struct policy_state *state)",
            ["if (!state)", "    return 0;", *(statistics.initialised()), "return 0;"],
        ),
        *(
            function(
                f"POLICY_FUNCTION int policy_observe{f'_{group.occasion}' if group.occasion else ''}({shown})",
                ["if (!state || !features)", "    return 0;", *statistics.observed(group), "return 0;"],
            )
            for group in statistics.groups
        ),
        *FixedProgram(policy.program, kinds, statistics).functions(scored, ("state", "features")),
    ]
    setters = [_setter(name, feature, kinds, name in used) for name, feature in signature.features()]
    for name in sorted(asked):
        setters.append(_plain_setter(name, kinds.feature(name).scale))
    yield origin(policy, provenance, "It needs a C compiler alone.", _ABOUT)
    yield "#ifndef POLICY_H\n#define POLICY_H"
    yield TYPES
    constants = [f"#define POLICY_SCALE {RESULT_SCALE} /* of what policy_score returns */"]
    constants += [f"#define POLICY_OBSERVES_{occasion}" for occasion in occasions(signature)]
    yield "\n".join(constants)
    yield struct_of_features(policy, member, query)
    yield struct("policy_state", "What the policy remembers.", statistics.members())
    yield needed("fixed.h", "\n".join((*functions, *setters)))
    yield from setters
    yield from functions
    yield "#endif"


def _setter(name: str, feature: Feature, kinds: NumberFormats, is_used: bool) -> str:
    if not is_used:
        return f"#define policy_set_{flat(name)}(features, value, scale) ((void)0) /* is not read */"
    own = kinds.feature(name).scale
    low, high = (quantised(bound, own) for bound in (feature.low, feature.high))
    scaled = f"policy_scaled(value, {own} - scale)"
    if feature.type != "float":  # rounded down: 2.7 whole packets are 2
        scaled = f"scale > 0 && scale < 63 ? policy_scaled(value >> scale, {own}) : {scaled}"
    return function(
        f"POLICY_INLINE void policy_set_{flat(name)}(struct policy_features *features, policy_fixed value, int scale)",
        [
            f"value = {scaled};",
            f"value = policy_max(policy_min(value, {integer(high)}), {integer(low)});",
            f"features->{member_of(name)} = value; /* scale {own} */",
        ],
    )


def _plain_setter(name: str, scale: int) -> str:
    return function(
        f"POLICY_INLINE void policy_set_{flat(name)}(struct policy_features *features, policy_fixed value, int scale)",
        [f"features->{member_of(name)} = policy_scaled(value, {scale} - scale); /* scale {scale} */"],
    )
