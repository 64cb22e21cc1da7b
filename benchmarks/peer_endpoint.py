"""A language model's stand-in on loopback that several search systems can call: one HTTP server, one rule for all.

It speaks the chat-completions API. The offline generator's operators write the replies, or they are recorded ones; what
a reply is made of depends on the number of the call, and for the operators on the programs that the prompt shows.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self

from vulcan.generator.proposer import OfflineEvolve
from vulcan.models import NoSource, Reply, extract_source
from vulcan.models.base import Parent, Request
from vulcan.task import Task

COMPLETIONS = "/v1/chat/completions"
MARKERS = ("# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END")
"""Comments around the part of a program that OpenEvolve and ShinkaEvolve let a model rewrite."""

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CURRENT = re.compile(
    r"^#+ (Current program|The policy to change|Policies to combine|The best policies so far|Policies to start from)"
    r"[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""The heading above the program to be changed: of both peers, and the headings of Vulcan's prompts."""

_ASKS_FOR = {
    "crossover": ("Combine the versions above", "Perform a cross-over between"),
    "fresh": (
        "rests on a different idea from every one above",
        "choose the most promising one",
        "choose one that is not among those above",
        "Design a completely different algorithm",
    ),
}
"""Wordings of Vulcan's and ShinkaEvolve's prompts. OpenEvolve's prompts always ask to rewrite the current program."""

_CROSSED = 0.22
"""The share of calls without such a request that are answered with a crossover, as in the offline generator."""


def with_markers(source: str) -> str:
    """Return a program between the comments that let a model rewrite all of it."""
    return f"{MARKERS[0]}\n{without_markers(source)}{MARKERS[1]}\n"


def without_markers(source: str) -> str:
    """Return a program without these comments."""
    lines = [line for line in source.splitlines() if line.strip() not in MARKERS]
    return "\n".join(lines).strip() + "\n"


def shown_programs(prompt: str, function: str) -> list[str]:
    """Return the programs in a prompt that define the function, each once: the one to be changed, then the others.

    That is the first below the heading of the current program, or else the first of all.
    """
    heading = max((found.end() for found in _CURRENT.finditer(prompt)), default=0)
    blocks = [found for found in _BLOCK.finditer(prompt) if re.search(rf"^def {function}\(", found[1], re.MULTILINE)]
    ordered = sorted(blocks, key=lambda found: found.start() < heading)  # stable: otherwise in the prompt's order
    return list(dict.fromkeys(without_markers(found[1]) for found in ordered))


def requested_operator(prompt: str) -> str:
    """Return "crossover" or "fresh" if a prompt asks for a combination or a new idea, else an empty string."""
    return next((name for name, texts in _ASKS_FOR.items() if any(text in prompt for text in texts)), "")


def reply_in_form(prompt: str, number: int, description: str, source: str) -> str:
    """Return a reply in the form that a prompt asks for: prose and one code block, or ShinkaEvolve's tags."""
    program = with_markers(source) if MARKERS[0] in prompt else source
    block = f"```python\n{program}```\n"
    if "<CODE>" not in prompt:
        return f"{description}\n\n{block}"
    name = f"<NAME>\nproposal_{number}\n</NAME>\n\n"
    return f"{name}<DESCRIPTION>\n{description}\n</DESCRIPTION>\n\n<CODE>\n{block}</CODE>\n"


class ReplyWriter(Protocol):
    """A source of replies; `number` counts the calls of a search from 0."""

    def write(self, number: int, prompt: str) -> str: ...


class OperatorReplies:
    """Replies by the offline generator's operators, from the programs that a prompt shows.

    A prompt that asks for a combination gets a crossover of the current program with another one, a prompt that asks
    for a new idea a new program. All others get the current program changed, or sometimes crossed with another one.
    Which programs, operators and constants depends on the seed and the number of the call alone.
    """

    def __init__(self, task: Task, seed: int) -> None:
        self._function = task.signature.function
        self._seed = seed
        self._generator = OfflineEvolve(task)

    def write(self, number: int, prompt: str) -> str:
        rng = random.Random(f"{self._seed}:{number}:parents")
        programs = shown_programs(prompt, self._function)
        crossed, other = rng.random() < _CROSSED, rng.random()
        operator = requested_operator(prompt) or ("crossover" if crossed else "mutate")
        if operator == "crossover" and len(programs) > 1:
            parents = [programs[0], programs[1 + int(other * (len(programs) - 1))]]
        else:
            parents = programs[:1]
            operator = "fresh" if operator == "fresh" or not programs else "mutate"
        shown = tuple(Parent(index, source, float(-index)) for index, source in enumerate(parents))
        written = self._generator.propose(Request(number, 0, (), shown, self._seed, operator))
        source = extract_source(written, self._function)
        return reply_in_form(prompt, number, written.text.partition("\n")[0], source)


class RecordedReplies:
    """Replies that a language model once gave: the k-th call gets the k-th, from the first again after the last."""

    def __init__(self, task: Task, replies: Sequence[Reply]) -> None:
        self._function = task.signature.function
        self._replies = replies

    def write(self, number: int, prompt: str) -> str:
        reply = self._replies[number % len(self._replies)]
        try:
            source = extract_source(reply, self._function)
        except NoSource:
            return reply.text
        return reply_in_form(prompt, number, reply.text.partition("```")[0].strip(), source)


class ModelEndpoint:
    """The model behind the server: counts calls, and the processor seconds that writing the replies takes."""

    def __init__(self, writer: ReplyWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self.calls = 0
        self.seconds = 0.0

    def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one request of the chat-completions API."""
        prompt = "\n\n".join(str(message["content"]) for message in body["messages"])
        with self._lock:
            began = time.thread_time()
            text = self._writer.write(self.calls, prompt)
            self.calls += 1
            self.seconds += time.thread_time() - began
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        tokens_in, tokens_out = len(prompt) // 4, len(text) // 4
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": str(body.get("model", ""))}
        return {**reply, "choices": [choice], "usage": usage}


Route = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class LoopbackServer:
    """A server on loopback that answers a JSON document with one, by the path of the request."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each body waits 40 ms for the head's acknowledgement

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                route = routes.get(self.path)
                document = {"error": f"no route {self.path}"} if route is None else route(json.loads(sent))
                body = json.dumps(document).encode()
                self.send_response(404 if route is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            request_queue_size = 128  # a search calls many times at once

        self._server = Listener(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
