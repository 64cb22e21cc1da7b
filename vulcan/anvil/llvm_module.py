"""Writes the LLVM IR of a whole policy: its helpers, its score, and the update of exactly its statistics."""

from __future__ import annotations

from vulcan.anvil.jit import LIBRARY
from vulcan.anvil.llvm_builder import constant
from vulcan.anvil.llvm_context import Context
from vulcan.anvil.llvm_writer import ENTRY_ARGUMENTS, Writer


def _declarations() -> dict[str, str]:
    lines = {}
    for name, count in LIBRARY.items():
        doubles = ", ".join(["double"] * count)
        lines[f"anvil_{name}"] = f"declare double @anvil_{name}({doubles}) nounwind willreturn memory(none)"
    for name, count in (("add", 1), ("move", 2), ("remove", 1), ("percentile", 2)):
        full = f"anvil_population_{name}"
        lines[full] = f"declare double @{full}(i64{', double' * count}) nounwind"
    for name in ("floor", "ceil", "trunc", "roundeven", "fabs", "sqrt"):
        lines[f"llvm.{name}.f64"] = f"declare double @llvm.{name}.f64(double)"
    lines["llvm.copysign.f64"] = "declare double @llvm.copysign.f64(double, double)"
    return lines


_DECLARATIONS = _declarations()


def module_text(context: Context) -> str:
    """The IR of a policy's helpers, its score, and the update of its statistics."""
    parts = [Writer(context, function).function() for function in context.program.functions]
    if context.plan.statistics:
        parts.extend(_observation(context, role) for role in ("enter", "update", "leave"))
    body = "\n".join(parts)
    used = [line for name, line in _DECLARATIONS.items() if f"@{name}(" in body]
    return "\n".join((body, *used)) + "\n"


def _observation(context: Context, role: str) -> str:
    """`enter`, `update` or `leave`: what becomes of an entity's statistics then."""
    w = Writer(context, context.program.entry)
    for statistic in context.plan.averages if role != "leave" else ():
        place = w.element("%statistics", context.average_slot(statistic))
        value = w.read(context.layout.features[statistic.feature])
        if role == "update":
            old = w.load(place)
            moved = w.op("fmul", constant(statistic.argument), w.op("fsub", value, old))
            value = w.op("fadd", old, moved)
        w.put(f"store double {value}, ptr {place}")
    for feature in context.plan.populations:
        place = w.element("%statistics", context.population_slot(feature))
        population = w.population(feature)
        if role == "leave":
            w.call("anvil_population_remove", f"i64 {population}", f"double {w.load(place)}")
            continue
        value = w.read(context.layout.features[feature])
        if role == "enter":
            new = w.call("anvil_population_add", f"i64 {population}", f"double {value}")
        else:
            old = w.load(place)
            new = w.call("anvil_population_move", f"i64 {population}", f"double {old}", f"double {value}")
        w.put(f"store double {new}, ptr {place}")
    lines = "\n".join(w.lines)
    return f"define void @{context.symbol(role)}({ENTRY_ARGUMENTS}) nounwind {{\nentry:\n{lines}\n  ret void\n}}"
