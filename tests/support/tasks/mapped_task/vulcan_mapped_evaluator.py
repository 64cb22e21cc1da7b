"""Sums decisions over the values of a column that is mapped into memory."""

import numpy as np

from vulcan.evaluator import Evaluator, Instance


class MappedEvaluator(Evaluator):
    def __init__(self):
        self._columns = {}

    def instances(self, settings, split):
        return [Instance("column", "train", {"path": ""})]

    def prepare(self, instances):
        for instance in instances:
            path = instance.parameters["path"]
            self._columns[path] = np.load(path, mmap_mode="r")

    def evaluate(self, policy, instance):
        decide = policy.reference()
        column = self._columns[instance.parameters["path"]]
        return {"sum": float(sum(decide({"load": float(value % 50), "room": 25.0}) for value in column))}

    def baselines(self):
        return {"none": "baseline"}

    def evaluate_baseline(self, name, instance):
        return {"sum": 0.0}
