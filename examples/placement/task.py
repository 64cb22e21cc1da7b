"""Model placement (Prism of the ADRS benchmark): which GPU serves which models, decided by a free program."""

from pathlib import Path

from vulcan.task import Feature, Hook, Mechanism, Objective, Program, Record, Scalar, Task

MODEL = Record(
    "model",
    "a model to place",
    (
        Feature("number", "int", "models", 0.0, 100.0, "its number, from 0"),
        Feature("size", "int", "GB", 1.0, 80.0, "memory that it takes"),
        Feature("rate", "int", "requests per second", 1.0, 100.0, "requests for it"),
        Feature("slo", "int", "ms", 1.0, 100.0, "the latency that is promised"),
    ),
)

TASK = Task(
    name="placement",
    summary="Place models on GPUs so that the highest pressure on a GPU's memory is low.",
    signature=Program(
        function="Policy",
        arguments=(
            Scalar(Feature("gpus", "int", "GPUs", 1.0, 100.0, "how many there are")),
            Scalar(Feature("memory", "int", "GB", 1.0, 1000.0, "memory of each")),
        ),
        returns="",
        hooks=(
            Hook("add", (MODEL,), "Called once for each model, before any is placed."),
            Hook(
                "place",
                (MODEL,),
                "Called once for each model, in the same order, when all are known.",
                returns="int",
                result="the GPU that serves it, from 0; its models must fit into its memory",
            ),
        ),
        mechanisms=(
            Mechanism("program", "An instance is made for each case of 5 to 9 GPUs and twice as many models."),
        ),
    ),
    evaluator="placement_evaluator:PlacementEvaluator",
    objectives=(
        Objective(
            "points", "points", "the public score, from 0 to 100", lambda m, _: m["points"], lowest=0.0, highest=100.0
        ),
    ),
    directory=Path(__file__).parent,
    advice=("A case may take a tenth of a second: local search and exact search of parts are possible.",),
)
