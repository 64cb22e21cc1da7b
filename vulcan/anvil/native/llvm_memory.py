"""A builder that knows where a policy's features and statistics lie."""

from __future__ import annotations

from vulcan.anvil.layout import Slot
from vulcan.anvil.native.llvm_builder import Builder
from vulcan.anvil.native.llvm_context import Context
from vulcan.anvil.statistic_slots import OBSERVATIONS, Base, Part

ENTRY_ARGUMENTS = "ptr %globals, ptr %entity, ptr %statistics, double %key"


class Memory(Builder):
    """The body of a function with the arguments of an entry."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def read(self, slot: Slot) -> str:
        return "%key" if slot.base == "key" else self.load(self.element(f"%{slot.base}", slot.index))

    def feature(self, name: str) -> str:
        return self.read(self.context.layout.features[name])

    def part(self, base: Base, part: Part, offset: int = 0) -> str:
        """A pointer to a slot of the part, by its number."""
        start = self.context.blocks[base].starts[part] + offset
        if base == "entity":
            return self.element("%statistics", start)
        return self.element("%globals", self.context.starts[base] + start)

    def length(self, base: Base, part: Part) -> int:
        return self.context.blocks[base].lengths[part]

    def address(self, base: Base, part: Part) -> str:
        return self.let(f"ptrtoint ptr {self.part(base, part)} to i64")

    def observations(self, base: Base) -> str:
        return self.load_word(self.part(base, OBSERVATIONS))

    def item(self, base: Base, part: Part, index: str) -> str:
        """The number in a slot of the part, whose index is in a register."""
        return self.load(self.let(f"getelementptr double, ptr {self.part(base, part)}, i64 {index}"))
