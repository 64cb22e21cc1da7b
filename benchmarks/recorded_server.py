"""A model server on loopback that answers with the recorded replies of a language model, each after a while."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peer_endpoint import COMPLETIONS, LoopbackServer


class RecordedServer(LoopbackServer):
    """Speaks the chat-completions API. `most_open` is how many calls were open at the same time."""

    def __init__(self, replies: Sequence[str], seconds: float) -> None:
        super().__init__({COMPLETIONS: self._answer})
        self._replies = itertools.cycle(replies)
        self._seconds = seconds
        self._lock = threading.Lock()
        self._open = self.most_open = 0

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def _answer(self, _request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._open += 1
            self.most_open = max(self.most_open, self._open)
            text = next(self._replies)
        time.sleep(self._seconds)
        with self._lock:
            self._open -= 1
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3000, "completion_tokens": 300, "total_tokens": 3300}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "recorded", "choices": [choice]}
        return {**reply, "usage": usage}
