"""A task of two functions: which waiting car boards next, and whether the ferry leaves now."""

from pathlib import Path

from vulcan.task import Entity, Feature, Global, Mechanism, Objective, Property, Rank, Scalar, Setting, Task, Value

NOW = Scalar(Feature("now", "int", "minutes", 0.0, 2.0**20, "the time"))

FERRY = Global(
    name="ferry",
    meaning="the ferry at the quay",
    features=(
        Feature("room", "float", "metres", 0.0, 60.0, "how much deck is left"),
        Feature("waited", "int", "minutes", 0.0, 2.0**20, "how long it has been at the quay"),
        Feature("queue", "int", "cars", 0.0, 2.0**20, "how many cars wait"),
    ),
)

TASK = Task(
    name="ferry_task",
    summary="Bring cars over a river, the dear ones soon.",
    signature=Rank(
        function="priority",
        arguments=(
            NOW,
            Entity(
                name="car",
                meaning="the car that may board",
                features=(
                    Feature("id", "int", "identity", 0.0, 2.0**20, "which car it is"),
                    Feature("length", "float", "metres", 2.0, 20.0, "how much deck it takes"),
                    Feature("fare", "float", "euros", 0.0, 500.0, "what it pays, less for every minute that it waits"),
                    Feature("arrived", "int", "minutes", 0.0, 2.0**20, "when it came to the quay"),
                ),
                key="id",
                population="quay",
            ),
            FERRY,
        ),
        returns="how much it is wanted on board; the highest boards first",
        mechanisms=(Mechanism("full", "Every minute each waiting car that fits is ranked."),),
    ),
    others=(
        Value(
            function="leave",
            arguments=(NOW, FERRY),
            returns="whether the ferry leaves now: it does if this is at least 1",
            low=0.0,
            high=1.0,
            mechanisms=(Mechanism("each", "It is asked every minute, once no more cars board."),),
        ),
    ),
    evaluator="vulcan_ferry_evaluator:FerryEvaluator",
    objectives=(
        Objective(
            "earned", "fares", "the fares earned, as a share of what the baseline patient earns, less 1",
            lambda metrics, references: metrics["fares"] / references["patient"]["fares"] - 1, references=("patient",),
        ),
    ),
    directory=Path(__file__).parent,
    settings=(Setting("minutes", "int", "how long a day is", 200),),
    properties=(
        Property("dearer first", "nondecreasing", "a dearer car is wanted no less", subject="car.fare"),
        Property("a yes or no", "bounded", "it is a share", low=0.0, high=1.0, function="leave"),
        Property("full is full", "holds", "a full ferry leaves", claim="result >= 1", when="ferry.room <= 0",
                 function="leave"),
    ),
)  # fmt: skip
