"""Guards (clamps, caps, exceptions) that make generated programs satisfy the properties a task requires.

A search rejects programs that break a required property, and the generator, unlike a language model, learns nothing
from the counterexample. Without guards nine of ten generated programs for a queue or a congestion window are rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vulcan.anvil import Policy, ir
from vulcan.anvil.proofs.claims import RESULT, conditions
from vulcan.anvil.proofs.verify import is_certain
from vulcan.anvil.rewrite.traversal import from_below
from vulcan.generator.expression_tree import operate
from vulcan.generator.normal_form import flatten
from vulcan.task import Property, Task, Value

Guard = Callable[[ir.Expression], ir.Expression]


def guards(task: Task) -> list[tuple[Property, Guard]]:
    """Return each required property of the task's only function with a guard, where one is known."""
    found: list[tuple[Property, Guard]] = []
    for declared in task.properties:
        if declared.required and declared.kind == "bounded":
            if declared.low is not None:
                found.append((replace(declared, high=None), _at_least(declared.low)))
            if declared.high is not None:
                found.append((replace(declared, low=None), _at_most(ir.Number(declared.high))))
        elif declared.required and declared.kind == "holds":
            guard = _of_claim(task, declared)
            if guard is not None:
                found.append((declared, guard))
    return found


def broken(policy: Policy, known: list[tuple[Property, Guard]]) -> list[Guard]:
    """Return the guards of the properties that the policy is not certain to satisfy."""
    return [guard for declared, guard in known if not is_certain(policy, declared)]


def _at_least(low: float) -> Guard:
    return lambda e: operate("max", ir.Number(low), e)


def _at_most(high: ir.Expression) -> Guard:
    return lambda e: operate("min", e, high)


def _of_claim(task: Task, declared: Property) -> Guard | None:
    """Return a guard for a claim; None for a RANK, or if the claim cannot be flattened.

    For `result <= X` it takes the smaller of both; any other claim gives the lowest result where it fails.
    """
    signature = task.signature
    when, claim = (None if each is None else flatten(each.program) for each in conditions(task, declared))
    if claim is None or not isinstance(signature, Value):
        return None
    match claim:
        case ir.Compare(("<=",), (ir.Read(name), most)) if name == RESULT:
            return _at_most(most if when is None else ir.Choose(when, most, ir.Number(signature.high)))
    least = ir.Number(signature.low)
    if when is not None:
        claim = ir.Choose(when, claim, ir.Number(1.0))
    return lambda e: ir.Choose(_with_result(claim, e), e, least)


def _with_result(claim: ir.Expression, result: ir.Expression) -> ir.Expression:
    return from_below(claim, lambda e: result if e == ir.Read(RESULT) else e)
