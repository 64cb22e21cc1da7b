"""The second tier: host memory, which keeps blocks that left the tree, the longest untouched of which leave it in turn.

A list of blocks linked both ways, `later` and `earlier`, whose ends are at `block_count`; -1 stands for a block that is
not in it.
"""

from __future__ import annotations

from vulcan.kernel_support import helper


@helper
def unlink(earlier, later, block):
    later[earlier[block]] = later[block]
    earlier[later[block]] = earlier[block]
    earlier[block] = -1


@helper
def keep(earlier, later, end, count, capacity, block):
    """Make a block the newest; return the number of blocks there are then."""
    if capacity == 0:
        return 0
    if earlier[block] >= 0:
        unlink(earlier, later, block)
        count -= 1
    elif count == capacity:
        unlink(earlier, later, later[end])
        count -= 1
    newest = earlier[end]
    earlier[block] = newest
    later[newest] = block
    later[block] = end
    earlier[end] = block
    return count + 1
