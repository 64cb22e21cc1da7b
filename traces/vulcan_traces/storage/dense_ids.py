"""Dense ids: keys numbered from 0 in order of first appearance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError

_MAX_OBJECTS = 2**32 - 1
_AT_A_TIME = 1 << 18
_FIRST_ROOM = 1 << 12


class DenseIds:
    """Incremental numbering of keys, in 16 to 32 bytes per distinct key, however many requests there are."""

    def __init__(self) -> None:
        self.count = 0
        self._known = np.empty(_FIRST_ROOM, np.uint64)
        self._table = np.zeros(2 * _FIRST_ROOM, np.uint32)

    @property
    def keys(self) -> npt.NDArray[np.uint64]:
        """The key of each number so far, shape (count,)."""
        return self._known[: self.count]

    def number(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """Return the number of each key, shape (keys,). Raises UserError for more keys than fit 32 bits."""
        from vulcan_traces.kernels import numbering

        keys = np.ascontiguousarray(keys, np.uint64)
        objects = np.empty(len(keys), np.uint32)
        for start in range(0, len(keys), _AT_A_TIME):
            some = slice(start, start + _AT_A_TIME)
            self._make_room(len(keys[some]))
            self.count = numbering.number_keys(keys[some], self._table, self._known, self.count, objects[some])
            if self.count > _MAX_OBJECTS:
                raise UserError(f"a trace of over {_MAX_OBJECTS} objects: no more can be told apart")
        return objects

    def _make_room(self, more: int) -> None:
        """For this many further keys; then at most half of the table is in use."""
        from vulcan_traces.kernels import numbering

        room = len(self._known)
        while self.count + more > room:
            room *= 2
        if room > len(self._known):
            known = np.empty(room, np.uint64)  # unused parts take no memory
            known[: self.count] = self.keys
            self._known = known
            self._table = np.zeros(0, np.uint32)  # let go before the larger one is made
            self._table = np.zeros(2 * room, np.uint32)
            numbering.fill_table(self._known, self.count, self._table)
