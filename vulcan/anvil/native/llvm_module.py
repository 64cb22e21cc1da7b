"""Writes the LLVM IR of a whole policy: its helpers, its score, and the update of exactly its statistics."""

from __future__ import annotations

from vulcan.anvil.native.jit import LIBRARY
from vulcan.anvil.native.llvm_context import Context
from vulcan.anvil.native.llvm_events import events
from vulcan.anvil.native.llvm_writer import Writer
from vulcan.anvil.native.runtime import runtime_declarations


def _declarations() -> dict[str, str]:
    lines = runtime_declarations()
    for name, count in LIBRARY.items():
        doubles = ", ".join(["double"] * count)
        lines[f"anvil_{name}"] = f"declare double @anvil_{name}({doubles}) nounwind willreturn memory(none)"
    for name in ("floor", "ceil", "trunc", "roundeven", "fabs", "sqrt"):
        lines[f"llvm.{name}.f64"] = f"declare double @llvm.{name}.f64(double)"
    lines["llvm.copysign.f64"] = "declare double @llvm.copysign.f64(double, double)"
    lines["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)"
    return lines


_DECLARATIONS = _declarations()


def module_text(context: Context) -> str:
    """The IR of a policy's helpers, the functions that the task names, and the update of the policy's statistics."""
    parts = [Writer(context, function).function() for function in context.program.functions] + events(context)
    body = "\n".join(parts)
    used = [line for name, line in _DECLARATIONS.items() if f"@{name}(" in body]
    return "\n".join((body, *used)) + "\n"
