"""An evaluator that sleeps: any number of workers can share a processor and still be as fast as each alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Evaluator, Instance
from vulcan.task import Json, Metrics, Split


class NapEvaluator(Evaluator):
    """An instance is this many seconds."""

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        return ()

    def prepare(self, instances: Sequence[Instance]) -> None:
        """Nothing has to be made ready."""

    def evaluate(self, policy: object, instance: Instance) -> Metrics:
        time.sleep(float(str(instance.parameters["seconds"])))
        return {"value": 1.0}

    def baselines(self) -> Mapping[str, BaselineKind]:
        return {}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        raise UserError(f"no baseline is called {name!r}")
