"""The toy task with events: one of an entity, one of the system that sets a control, one that sees less."""

from dataclasses import replace

from anvil_toy import ITEM, NOW, PAST, TOY, TOY_LAYOUT, WORLD

from vulcan.anvil import Slot
from vulcan.task import Feature, Global, event

TIMER = Global("world", "everything", (Feature("alarm", "float", "ticks", 0.0, 1e9, "when to be called again"),))

STATEFUL = replace(
    TOY,
    name="stateful",
    events=(
        event("on_touch", (NOW, ITEM, WORLD, PAST), "An item was touched."),
        event("on_tick", (NOW, WORLD), "Time has passed.", controls=(TIMER,)),
        event("on_leave", (NOW, ITEM), "An item is about to leave."),
    ),
)

STATEFUL_LAYOUT = replace(TOY_LAYOUT, global_slots=6, controls={"world.alarm": Slot("globals", 5)})
