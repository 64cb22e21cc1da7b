"""A task with features of every kind, and the layout that the tests give it in memory."""

from pathlib import Path

from vulcan.anvil import HistorySlots, Layout, Slot
from vulcan.task import Entity, Feature, Global, History, Mechanism, Objective, Rank, Scalar, Task

NOW = Scalar(Feature("now", "int", "ticks", 0.0, 2.0**40, "the time"))

ITEM = Entity(
    name="item",
    meaning="the thing at hand",
    features=(
        Feature("id", "int", "identity", 0.0, 2.0**32, "which one it is"),
        Feature("signed", "float", "units", -5.5, 7.25, "around zero", unknown=-3.5, resolution=5),
        Feature("huge", "float", "units", -1e300, 1e300, "anything", resolution=3),
        Feature("tiny", "float", "units", 0.0, 1e-3, "close to zero"),
        Feature("least", "float", "units", 1e-300, 1.0, "never zero"),
        Feature("below", "int", "units", -1000.0, -1.0, "always negative", unknown=1e6, resolution=16),
        Feature("whole", "int", "units", -1000.0, 1000.0, "an integer"),
        Feature("positive", "int", "units", 1.0, 2.0**40, "a size", resolution=12),
        Feature("flag", "bool", "truth", 0.0, 1.0, "yes or no"),
        Feature("fixed", "float", "units", 2.5, 2.5, "always the same", resolution=1),
    ),
    key="id",
    population="world",
)

WORLD = Global(
    name="world",
    meaning="everything",
    features=(
        Feature("load", "float", "share", 0.0, 1.0, "how full it is"),
        Feature("drift", "float", "units", -1e-5, 1e12, "how far it went"),
        Feature("members", "int", "items", 0.0, 2.0**32, "how many there are"),
    ),
)

PAST = History("past", "those that left", entity="item", count_of="whole", age_unit="ticks")

TOY = Task(
    name="toy",
    summary="Nothing in particular.",
    signature=Rank(
        function="rate",
        arguments=(NOW, ITEM, WORLD, PAST),
        returns="a number",
        mechanisms=(Mechanism("once", "it is called once"),),
    ),
    evaluator="nowhere:Nothing",
    objectives=(Objective("only", "number", "the number itself", lambda metrics, references: metrics["number"]),),
    directory=Path(__file__).parent,
    operations=20_000,
)

TOY_LAYOUT = Layout(
    features={
        "now": Slot("globals", 1),
        "world.load": Slot("globals", 0),
        "world.drift": Slot("globals", 4),
        "world.members": Slot("globals", 2),
        "item.id": Slot("key"),
        **{f"item.{feature.name}": Slot("entity", i) for i, feature in enumerate(ITEM.features[1:], start=1)},
    },
    global_slots=5,
    histories={
        "past": HistorySlots(
            left=Slot("entity", 0),
            oldest=Slot("globals", 3),
            count=Slot("entity", 11),
            left_at=Slot("entity", 10),
            now=Slot("globals", 1),
        )
    },
)

FIXED = {name: declared.low for name, declared in TOY.signature.features()} | {
    "past.contains": 0.0, "past.count": 0.0, "past.age": 0.0,
}  # fmt: skip
"""A value for everything a policy of the task may read."""

HEAD = "def rate(now, item, world, past):\n"


def returning(expression: str, before: str = "") -> str:
    """Return a program that returns the expression."""
    return f"{before}{HEAD}    return {expression}\n"
