"""A task whose evaluator misbehaves when a policy asks for it, by what it decides for a load of 0."""

from pathlib import Path

from vulcan.task import Feature, Objective, Scalar, Setting, Task, Value

TASK = Task(
    name="mood_task",
    summary="Decide a lot, but never more than what fits.",
    signature=Value(
        function="decide",
        arguments=(
            Scalar(Feature("load", "float", "requests", 0.0, 1000.0, "how much there is to do")),
            Scalar(Feature("room", "float", "requests", 0.0, 1000.0, "how much more would fit")),
        ),
        returns="how much to take on",
    ),
    evaluator="vulcan_mood_evaluator:MoodEvaluator",
    objectives=(
        Objective(
            "gain", "sum", "how much more is taken on than by the baseline half, as a share of what that takes",
            lambda metrics, references: metrics["sum"] / references["half"]["sum"] - 1, references=("half",),
        ),
        Objective(
            "calm", "sum", "how near what is taken on comes to 1.37 times what the baseline half takes",
            lambda metrics, references: -abs(metrics["sum"] / references["half"]["sum"] - 1.37), references=("half",),
        ),
        Objective("few", "sum", "as little as possible", lambda metrics, _: -metrics["sum"]),
        Objective("broken", "sum", "no number at all", lambda metrics, _: metrics["sum"] * float("inf")),
        Objective("lost", "sum", "against nobody", lambda *_: 0.0, references=("nobody",)),
    ),
    directory=Path(__file__).parent,
    settings=(
        Setting("weight", "float", "what the instance `heavy` weighs", 2.0),
        Setting("instance", "text", "an instance for the split train, by name", repeatable=True),
        Setting("style", "text", "how it is done", "plain", choices=("plain", "fancy")),
        Setting("hurry", "flag", "do it at once"),
        Setting("crowd", "int", "how many more instances there are for the split train", 0),
        Setting("cheap", "flag", "offer cheaper versions of the instances, and tell policies that decide alike"),
    ),
    advice=("More is better until it does not fit.",),
)  # fmt: skip
