"""An evaluator that runs the code of an instance with some, as if a candidate had broken out of its language."""

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


class TargetEvaluator(Evaluator):
    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        return ()

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Do nothing: instances are self-contained."""

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        parameters: Mapping[str, Any] = instance.parameters
        if "code" in parameters:
            given = {**parameters["given"], "channel": int(sys.argv[1])}
            return {json.dumps(carry_out(parameters["code"], given, channel=None)): 0.0}
        decide = policy.reference()
        return {"sum": sum(decide({"load": float(n), "room": float(10 - n)}) for n in range(11))}

    def baselines(self) -> Mapping[str, BaselineKind]:
        return {}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        raise UserError(f"no baseline is called {name!r}")
