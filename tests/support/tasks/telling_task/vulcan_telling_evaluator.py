"""Findings about the sums of decisions; what is held out may be measured, and never explained."""

from vulcan_mood_evaluator import MoodEvaluator

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

    def compare(self, first, second, instance):
        taken = [self.evaluate(policy, instance)["sum"] for policy in (first, second)]
        return [Statement(f"The first takes {taken[0] - taken[1]:.3f} more.")]
