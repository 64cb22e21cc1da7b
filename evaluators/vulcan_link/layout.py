"""Where a compiled policy finds its features: in its flow's row, as the mechanism keeps them."""

from vulcan.anvil.feature_layout import Layout, Slot
from vulcan_link.policy_state import GLOBALS, SLOT

LAYOUT = Layout(features={name: Slot("globals", slot) for name, slot in SLOT.items()}, global_slots=GLOBALS)
