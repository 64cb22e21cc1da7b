"""A task whose evaluator reads a mapped file at every job, as those do that replay traces."""

from pathlib import Path

from vulcan.task import Feature, Objective, Scalar, Task, Value

TASK = Task(
    name="mapped_task",
    summary="Decide by what is in a file.",
    signature=Value(
        function="decide",
        arguments=(
            Scalar(Feature("load", "float", "requests", 0.0, 1000.0, "how much there is to do")),
            Scalar(Feature("room", "float", "requests", 0.0, 1000.0, "how much more would fit")),
        ),
        returns="how much to take on",
    ),
    evaluator="vulcan_mapped_evaluator:MappedEvaluator",
    objectives=(Objective("sum", "sum", "all that is taken on", lambda metrics, _: metrics["sum"]),),
    directory=Path(__file__).parent,
)
