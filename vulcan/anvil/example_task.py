"""The task that the grammar table's examples are about, and what has happened when they are asked.

Nothing in particular: a pool of objects that grow and shrink. It exists so that every example runs.
"""

from __future__ import annotations

from pathlib import Path

from vulcan.task import Entity, Feature, Global, History, Mechanism, Objective, Rank, Scalar, Task

EXAMPLE_TASK = Task(
    name="example",
    summary="The task of the language's examples.",
    signature=Rank(
        function="score",
        arguments=(
            Scalar(Feature("now", "int", "ticks", 0.0, 2.0**40, "the time")),
            Entity(
                name="obj",
                meaning="the object at hand",
                features=(
                    Feature("id", "int", "identity", 0.0, 2.0**32, "identifies the object and means nothing else"),
                    Feature("size", "int", "units", 1.0, 2.0**32, "how large it is"),
                    Feature("count", "int", "events", 1.0, 2.0**40, "events of it"),
                    Feature("last_seen", "int", "ticks", 0.0, 2.0**40, "the time of its latest event"),
                    Feature("drift", "float", "units", -1000.0, 1000.0, "how far it is from where it should be"),
                ),
                key="id",
                population="pool",
            ),
            Global(
                name="pool",
                meaning="all objects",
                features=(
                    Feature("load", "float", "share", 0.0, 1.0, "how full it is"),
                    Feature("members", "int", "objects", 0.0, 2.0**32, "how many objects there are"),
                ),
            ),
            History("past", "the objects that left most recently", entity="obj", count_of="count", age_unit="ticks"),
        ),
        returns="the object's score",
        mechanisms=(Mechanism("once", "it is called once"),),
    ),
    evaluator="nowhere:Nothing",
    objectives=(Objective("score", "score", "the score itself", lambda metrics, references: metrics["score"]),),
    directory=Path(__file__).parent,
)

SHOWN: dict[str, float] = {
    "now": 100.0, "obj.id": 1.0, "obj.size": 4.0, "obj.count": 3.0, "obj.last_seen": 90.0, "obj.drift": -2.5,
    "pool.load": 0.5, "pool.members": 2.0, "past.contains": 1.0, "past.count": 12.0, "past.age": 30.0,
}  # fmt: skip
"""What the function is shown when an example is asked."""

EVENTS: tuple[dict[str, float], ...] = tuple(
    SHOWN | {"obj.id": key, "obj.size": size} for key, size in ((2.0, 16.0), (1.0, 2.0), (1.0, 9.0), (1.0, 4.0))
)
"""What was observed before: an object of size 16, and another of sizes 2, 9 and 4, which is the one at hand."""


def outcome(source: str) -> float:
    """What a program of the example task returns after the events, by the reference. Raises Rejected."""
    from vulcan.anvil.policy import check  # which reads the grammar table, and with it the examples

    reference = check(source, EXAMPLE_TASK).reference()
    for event in EVENTS:
        reference.observe(event["obj.id"], event)
    return reference(SHOWN, SHOWN["obj.id"])
