"""Small tasks for the tests: a RANK with clocks, histories and percentiles, and a VALUE over groups of features."""

from pathlib import Path

import pytest

from vulcan.task import (
    Entity,
    Feature,
    Global,
    History,
    Mechanism,
    Objective,
    Property,
    Rank,
    Scalar,
    Task,
    Value,
)

_OBJECTIVE = Objective("gain", "gain", "the gain", lambda metrics, references: metrics["gain"])

RANK_TASK = Task(
    name="toy_rank",
    summary="Which parcel goes first.",
    signature=Rank(
        function="urgency",
        arguments=(
            Scalar(Feature("clock", "float", "seconds", 0.0, 1e6, "the time")),
            Entity(
                "parcel",
                "what waits",
                (
                    Feature("id", "int", "identity", 0.0, 1e6, "its number"),
                    Feature("weight", "float", "grams", 1.0, 1e5, "how heavy it is"),
                    Feature("price", "float", "euros", 0.0, 1e4, "what it is worth"),
                    Feature("visits", "int", "visits", 0.0, 1e3, "how often it was looked at"),
                    Feature("arrived", "float", "seconds", 0.0, 1e6, "when it came"),
                    Feature("fragile", "bool", "flag", 0.0, 1.0, "whether it breaks"),
                ),
                key="id",
                population="store",
            ),
            Global(
                "store",
                "all parcels",
                (
                    Feature("load", "float", "grams", 0.0, 1e8, "the weight of all"),
                    Feature("slack", "float", "seconds", -100.0, 100.0, "ahead of the plan, or behind it"),
                    Feature("last", "float", "urgency", -1e6, 1e6, "the urgency of the last one sent"),
                ),
            ),
            History("sent", "what was sent", entity="parcel", count_of="visits", age_unit="seconds"),
        ),
        returns="how urgent it is",
        mechanisms=(Mechanism("full", "all are ranked"),),
    ),
    evaluator="nowhere:Evaluator",
    objectives=(_OBJECTIVE,),
    directory=Path(__file__).parent,
    properties=(
        Property("dearer first", "nondecreasing", "all else equal", subject="parcel.price"),
        Property("blind to weight", "independent", "weight says nothing", subject="parcel.id"),
    ),
)

VALUE_TASK = Task(
    name="toy_value",
    summary="How many packets may be under way.",
    signature=Value(
        function="window",
        arguments=(
            Scalar(Feature("loss", "bool", "flag", 0.0, 1.0, "whether a packet was lost")),
            Global(
                "link",
                "the connection",
                (
                    Feature("window", "float", "packets", 2.0, 1000.0, "the present window"),
                    Feature("delivered", "int", "packets", 0.0, 1e9, "packets delivered"),
                    Feature("rtt", "float", "seconds", 0.001, 10.0, "the latest round-trip time"),
                    Feature("least_rtt", "float", "seconds", 0.001, 10.0, "the least round-trip time"),
                    Feature("rate", "float", "packets a second", 0.0, 1e6, "the delivery rate"),
                ),
            ),
        ),
        returns="the next window",
        low=2.0,
        high=1000.0,
        mechanisms=(Mechanism("each", "at every acknowledgement"),),
    ),
    evaluator="nowhere:Evaluator",
    objectives=(_OBJECTIVE,),
    directory=Path(__file__).parent,
)

TOY_TASKS = [pytest.param(RANK_TASK, id="rank"), pytest.param(VALUE_TASK, id="value")]
