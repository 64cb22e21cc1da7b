"""Findings about the sums of decisions; what is held out may be measured, and never explained."""

from vulcan_mood_evaluator import MoodEvaluator

from vulcan.evaluator import Instance, Sweep
from vulcan.findings import SmallTable, Statement


class TellingEvaluator(MoodEvaluator):
    def findings(self, policy, instance):
        if instance.split != "train":
            raise AssertionError(f"{instance.name} is held out")
        taken = self.evaluate(policy, instance)["sum"]
        return [
            SmallTable("Taken", ("how", "sum"), (("in all", taken),)),
            Statement(f"Of what fits, {taken:.6f} is taken.", 2.0),
        ]

    def workload(self, instance):
        if instance.split != "train":
            raise AssertionError(f"{instance.name} is held out")
        return [Statement(f"There are {len(instance.parameters)} parameters.")]

    def sweep(self, instance):
        steps = [(f"{weight:g} (weight)", Instance(f"{instance.name} at {weight:g}", "train",
                  {**instance.parameters, "weight": weight})) for weight in (1.0, 2.0, 4.0)]  # fmt: skip
        return Sweep("weight", "sum", tuple(steps))

    def compare(self, first, second, instance):
        taken = [self.evaluate(policy, instance)["sum"] for policy in (first, second)]
        return [Statement(f"The first takes {taken[0] - taken[1]:.3f} more.")]
