"""An evaluator that scores honestly, but runs the code or returns the hostile value of an instance with one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from vulcan.anvil import Policy
from vulcan.doctor.attacks.breakout import carry_out
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Evaluator, Instance
from vulcan.task import Json, Metrics, Split


class _Flattering:
    """A value for which every comparison with `==`, `<`, `>`, `<=` or `>=` is true."""

    def __lt__(self, other: object) -> bool:
        return True

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class _Lying(float):
    """A number that converts to a different float, infinity."""

    def __float__(self) -> float:
        return float("inf")


_VALUES: Mapping[str, Any] = {
    "flattering": _Flattering(),
    "lying": _Lying(1.0),
    "nan": float("nan"),
    "truth": True,
    "text": "1e300",
    "huge": 10**400,
}


class TargetEvaluator(Evaluator):
    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        return ()

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Do nothing: instances are self-contained."""

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        parameters: Mapping[str, Any] = instance.parameters
        if "value" in parameters:
            return {"sum": _VALUES[parameters["value"]]}
        if "code" in parameters:
            given = {**parameters["given"], "channel": int(sys.argv[1])}
            return {json.dumps(carry_out(parameters["code"], given, channel=None)): 0.0}
        decide = policy.reference()
        return {"sum": sum(decide({"load": float(n), "room": float(10 - n)}) for n in range(11))}

    def decisions(self, policy: Policy) -> str:
        """Return the decision in one of the states that instances have."""
        return str(policy.reference()({"load": 0.0, "room": 10.0}))

    def baselines(self) -> Mapping[str, BaselineKind]:
        return {}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        raise UserError(f"no baseline is called {name!r}")
