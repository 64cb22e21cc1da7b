"""Where the features of the example task lie in memory, for running the table's examples natively."""

from vulcan.anvil import HistorySlots, Layout, Slot

EXAMPLE_LAYOUT = Layout(
    features={
        "now": Slot("globals", 0), "pool.load": Slot("globals", 1), "pool.members": Slot("globals", 2),
        "obj.id": Slot("key"), "obj.size": Slot("entity", 1), "obj.count": Slot("entity", 2),
        "obj.last_seen": Slot("entity", 3), "obj.drift": Slot("entity", 4),
    },
    global_slots=4,
    histories={
        "past": HistorySlots(
            left=Slot("entity", 0),
            oldest=Slot("globals", 3),
            count=Slot("entity", 5),
            left_at=Slot("entity", 6),
            now=Slot("globals", 0),
        )
    },
)  # fmt: skip
