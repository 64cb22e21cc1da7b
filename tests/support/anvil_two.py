"""The toy task with two more functions: one about the same item, and one that is shown no item at all."""

from dataclasses import replace

from anvil_toy import ITEM, NOW, PAST, TOY, TOY_LAYOUT, WORLD

from vulcan.anvil import Slot
from vulcan.task import Feature, Global, Property, Scalar, Value

WIND = Global(
    name="wind",
    meaning="what blows",
    features=(
        Feature("speed", "float", "units", 0.0, 50.0, "how fast", unknown=7.0),
        Feature("turn", "float", "units", -180.0, 180.0, "where to", unknown=-1.5, observed="high_water"),
    ),
    observed="gust",
)

TIDE = Global(
    name="tide",
    meaning="the water",
    features=(Feature("height", "float", "units", -3.0, 3.0, "how high", unknown=0.25),),
    observed="high_water",
)

LEVEL = Scalar(Feature("level", "float", "units", -10.0, 10.0, "how high the water is"))

TWO = replace(
    TOY,
    name="toy_two",
    others=(
        Value("admit", (PAST, ITEM, LEVEL, NOW), "whether it may come in", 0.0, 1.0),
        Value("steer", (WIND, NOW, WORLD, TIDE), "where to go", -180.0, 180.0),
    ),
    properties=(
        Property("steers within", "bounded", "a turn", low=-180.0, high=180.0, function="steer"),
        Property("rates within", "bounded", "a rate", low=0.0, high=10.0),
        Property("higher water", "nondecreasing", "it admits more", subject="level", function="admit"),
    ),
)
"""`rate`, `admit` and `steer`; wind and tide are observed on occasions, the wind's turn on that of the tide."""

TWO_LAYOUT = replace(
    TOY_LAYOUT,
    features={
        **TOY_LAYOUT.features,
        "wind.speed": Slot("globals", 5),
        "wind.turn": Slot("globals", 7),
        "level": Slot("globals", 6),
        "tide.height": Slot("globals", 8),
    },
    global_slots=9,
)

TWO_HEADS = {
    "rate": "def rate(now, item, world, past):",
    "admit": "def admit(past, item, level, now):",
    "steer": "def steer(wind, now, world, tide):",
}


def defining(rate: str = "1", admit: str = "level", steer: str = "wind.turn", before: str = "") -> str:
    """Return a program whose functions return the expressions."""
    bodies = {"rate": rate, "admit": admit, "steer": steer}
    return before + "".join(f"{head}\n    return {bodies[name]}\n" for name, head in TWO_HEADS.items())
