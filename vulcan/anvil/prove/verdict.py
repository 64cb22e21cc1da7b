"""What became of a property of a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vulcan.anvil.prove.counterexample import Counterexample
from vulcan.task import Json, Property

Outcome = Literal["proved", "refuted", "unknown"]
Method = Literal["certificate", "search", "solver", "none"]

ARITHMETIC = "exact float64"
"""Every verdict is of the numbers that the policy really computes, rounding and saturation included."""


@dataclass(frozen=True)
class Verdict:
    """`method` is what settled it: a certificate by rules, z3, or the search for a counterexample.

    A refuted property has a counterexample, which the reference interpreter has confirmed. `reason` says why it is
    unknown. `seconds` is how long it took.
    """

    property: Property
    outcome: Outcome
    method: Method
    seconds: float
    counterexample: Counterexample | None = None
    reason: str = ""
    arithmetic: str = ARITHMETIC

    def document(self) -> dict[str, Json]:
        return {
            "name": self.property.name,
            "kind": self.property.kind,
            "function": self.property.function,
            "required": self.property.required,
            "verdict": self.outcome,
            "arithmetic": self.arithmetic,
            "method": self.method,
            "counterexample": None if self.counterexample is None else self.counterexample.document(),
            "seconds": self.seconds,
            "reason": self.reason,
        }


def claim_of(declared: Property) -> str:
    """What the property says, in words."""
    result = "the result" if declared.function is None else f"the result of {declared.function}"
    match declared.kind:
        case "bounded":
            ends = [f"at least {declared.low:g}"] if declared.low is not None else []
            ends += [f"at most {declared.high:g}"] if declared.high is not None else []
            said = f"{result} is {' and '.join(ends)}"
        case "nondecreasing" | "nonincreasing":
            verb = "fall" if declared.kind == "nondecreasing" else "rise"
            said = f"{result} does not {verb} when {declared.subject} grows, all else equal"
        case "independent":
            said = f"{result} is the same for every {declared.subject}, all else equal"
        case "holds":
            said = f"{declared.claim}" if declared.function is None else f"{declared.claim}, of {result}"
    return said if declared.when is None else f"{said}, where {declared.when}"
