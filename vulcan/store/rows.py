"""The rows of a run's log: their chain of checksums, and the form of the entries in them.

The digest of a row covers all rows before it: one that was changed, moved, added or taken out breaks the chain. Prompts
of a search have most of their text in common, so each is compressed with an earlier one as the dictionary.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from vulcan.store.decode import MalformedRow, decode_entry, parse_fields
from vulcan.store.events import CallRecord, Entry

if TYPE_CHECKING:
    from vulcan.zstd import ZstdDict

FIRST = bytes(16)
"""What stands for the digest before the first row."""

_PROMPTS_A_BASE = 32
"""Prompts that are compressed with the same one: damage to that one is damage to them."""

_MAX_PROMPT = 64 << 20  # bytes
_MAX_DEPTH = 64  # nested objects and arrays in what is written again; a run has a few


class Row(NamedTuple):
    """A row of the log, as stored."""

    id: int
    time: str
    kind: str
    data: str
    digest: bytes

    def follows(self, digest: bytes) -> bool:
        """Check whether the row is as it was written, after a row of this digest."""
        plain = (self.time, self.kind, self.data)
        return all(isinstance(part, str) for part in plain) and self.digest == chained(digest, *plain)


def chained(digest: bytes, time: str, kind: str, data: str) -> bytes:
    """Return the digest of a row after one of this digest."""
    text = "\0".join((time, kind, data)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(digest + text, digest_size=len(FIRST)).digest()


class PromptPacker:
    """Compresses the prompts of calls, each by the text of one a few rows before it."""

    def __init__(self) -> None:
        self._base, self._row, self._left = b"", 0, 0

    def fields_of(self, call: CallRecord, row: int) -> dict[str, Any]:
        """Return the fields of a call as stored in this row."""
        text = json.dumps(call.messages).encode()
        base, base_row = (self._base, self._row) if self._left else (b"", 0)
        if not self._left:
            self._base, self._row, self._left = text, row, _PROMPTS_A_BASE
        self._left -= 1
        from vulcan.zstd import compress  # here and below, as a search without a model needs none

        packed = compress(text, zstd_dict=_dictionary(base))
        return {**plain_fields(call), "messages": {"base": base_row, "packed": base64.b64encode(packed).decode()}}


def plain_fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry, not copied, of which JSON is made with `default=asdict`."""
    return {field.name: getattr(entry, field.name) for field in fields(entry)}


class PromptReader:
    """Reads calls as stored; `data_of` returns the data of another row, which has the base of their prompts, if any."""

    def __init__(self, data_of: Callable[[int], str | None]) -> None:
        self._data_of = data_of
        self._bases: dict[int, bytes] = {0: b""}

    def decode(self, kind: str, data: str) -> Entry:
        """Decode an entry whose texts are in its row. Raises MalformedRow."""
        fields = parse_fields(data)
        if kind == CallRecord.__name__:
            fields["messages"] = self._messages(fields.get("messages"))
        return decode_entry(kind, fields)

    def _messages(self, stored: Any) -> Any:
        match stored:
            case {"base": int(base), "packed": str(packed)}:
                text = _decompressed(packed, self._base(base))
            case _:
                raise MalformedRow("a prompt that is no packed text")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MalformedRow("a prompt that is not JSON") from error

    def _base(self, row: int) -> bytes:
        if row not in self._bases:
            match parse_fields(self._data_of(row) or "{}").get("messages"):
                case {"base": 0, "packed": str(packed)}:
                    self._bases[row] = _decompressed(packed, b"")
                case _:
                    raise MalformedRow(f"a prompt that is based on the one of row {row}, which is gone")
        return self._bases[row]


def _decompressed(packed: str, base: bytes) -> bytes:
    from vulcan.zstd import ZstdDecompressor, ZstdError

    try:
        data = base64.b64decode(packed, validate=True)
        decompressor = ZstdDecompressor(_dictionary(base))
        text = decompressor.decompress(data, _MAX_PROMPT)
        if not decompressor.eof:
            raise MalformedRow("a prompt that is cut off or too long")
        return text
    except (ZstdError, ValueError) as error:
        raise MalformedRow("a prompt that cannot be decompressed") from error


def _dictionary(base: bytes) -> ZstdDict | None:
    from vulcan.zstd import ZstdDict

    return ZstdDict(base, is_raw=True) if base else None


def without_prompt(data: str) -> Entry:
    """Decode a call whose prompt is lost, with no messages. Raises MalformedRow."""
    return decode_entry(CallRecord.__name__, {**parse_fields(data), "messages": []})


def check_depth(value: object) -> None:
    """Raise MalformedRow where objects and arrays are nested more deeply than any that is written."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            part
            for one in level
            if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise MalformedRow("an entry that is nested too deeply")
