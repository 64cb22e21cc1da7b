"""Properties that every policy of a task should satisfy, as the task declares them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

_NEEDED = {
    "bounded": (),
    "nondecreasing": ("subject",),
    "nonincreasing": ("subject",),
    "independent": ("subject",),
    "holds": ("claim",),
}
_ALLOWED = {**_NEEDED, "bounded": ("low", "high")}


@dataclass(frozen=True, slots=True)
class Property:
    """A property every policy of the task should satisfy, to be proved or refuted (`vulcan verify`).

    `kind` is the claim about the number that the policy's function returns, before any mechanism clamps it: `bounded`
    (it stays within [low, high], of which one may be omitted), `nondecreasing` or `nonincreasing` (it does not fall, or
    rise, when the feature `subject` grows, all else equal), `independent` (it is the same for every value of `subject`,
    all else equal), or `holds` (the condition `claim` is true of it).

    Conditions are Anvil expressions over the function's arguments. A `claim` calls the policy's return value `result`:
    `"result <= flow.cwnd"`. With `when`, the property is claimed only of inputs that satisfy it, of both inputs where
    two are compared: `"obj.last_access <= now"`.

    Features take any value within their declared ranges, independently of one another; further constraints belong in
    `when`. Statistics and histories take any value within their bounds, the same in both inputs where two are compared.
    `required` has a search reject the policies that are refuted.

    `function` names the function that the claim is about, where the task declares several; by default the main one.
    """

    name: Annotated[str, "its name"]
    kind: Annotated[
        Literal["bounded", "nondecreasing", "nonincreasing", "independent", "holds"], "the form of the claim"
    ]
    meaning: Annotated[str, "what it says"]
    subject: Annotated[str | None, "the feature that it is about"] = None
    low: Annotated[float | None, "lower bound of the result"] = None
    high: Annotated[float | None, "upper bound of the result"] = None
    required: Annotated[bool, "whether a search rejects a policy that breaks it"] = False
    claim: Annotated[str | None, "the condition that holds"] = None
    when: Annotated[str | None, "the condition under which it applies"] = None
    function: Annotated[str | None, "the function that it is about, `null` for the main one"] = None

    @classmethod
    def finite(cls, meaning: str, when: str | None = None) -> Property:
        """Return that a number to rank by stays within +-1e300, which a search requires: beyond, kernels clamp it."""
        return cls("finite and bounded", "bounded", meaning, low=-1e300, high=1e300, when=when, required=True)

    def __post_init__(self) -> None:
        if self.kind not in _NEEDED:
            raise ValueError(f"property {self.name!r}: its kind is one of {', '.join(_NEEDED)}, not {self.kind!r}")
        given = {name for name in ("subject", "low", "high", "claim") if getattr(self, name) is not None}
        for name in _NEEDED[self.kind]:
            if name not in given:
                raise ValueError(f"property {self.name!r}: {self.kind} needs a {name}")
        for name in sorted(given - set(_ALLOWED[self.kind])):
            raise ValueError(f"property {self.name!r}: {self.kind} takes no {name}")
        if self.kind == "bounded":
            self._check_bounds()
            for name in ("low", "high"):  # whole numbers are printed and computed with as floats
                bound = getattr(self, name)
                object.__setattr__(self, name, None if bound is None else float(bound))

    def _check_bounds(self) -> None:
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        if not bounds:
            raise ValueError(f"property {self.name!r}: bounded needs a low, a high or both")
        if not all(map(math.isfinite, bounds)) or bounds != sorted(bounds):
            raise ValueError(f"property {self.name!r}: its bounds {bounds} are not two finite numbers in order")
