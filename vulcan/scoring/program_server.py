"""The fork server, `python -m vulcan.scoring.program_server DESCRIPTOR`.

Started by `vulcan.scoring.program_server_client`, it imports what candidates need, isolates itself from the host as far
as possible, and forks a child for each candidate. It never runs a candidate's code, and reads only the header of a
child's message, whose content is for the client.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from vulcan.scoring.foreign_code import ForeignCall
from vulcan.scoring.job import Limits
from vulcan.scoring.program_child import Child, Host
from vulcan.scoring.program_wire import FrameKind, Frames, Hangup
from vulcan.scoring.sandbox import linux
from vulcan.scoring.sandbox.layers import Layer, Layers
from vulcan.scoring.sandbox.linux import ProcessNamespaces
from vulcan.scoring.sandbox.lockdown import Notes, address_space_allowed, die_with_parent, isolate

_FIRST_SECONDS = 60.0
"""Wall-clock limit of the first child, which shows before any candidate which defences hold."""


@dataclass(slots=True)
class Server:
    """A server that replies to the frames of one client, in order."""

    control: Frames
    host: Host
    defences: bytes
    child: Child | None = None

    def serve(self) -> None:
        """Serve until the client closes the connection, which raises Hangup."""
        while True:
            kind, body = self.control.receive()
            self.control.send(*self._answer(kind, body))

    def _answer(self, kind: FrameKind, body: bytes) -> tuple[FrameKind, bytes]:
        match kind:
            case FrameKind.OPEN:
                return self._open(float(json.loads(body)["seconds"]))
            case FrameKind.MESSAGE if self.child is not None:
                answer = self.child.answer(body)
                return (FrameKind.ENDED, self.child.report()) if answer is None else (FrameKind.MESSAGE, answer)
            case FrameKind.END if self.child is not None:
                self.child.end("ended", "told to end")
                return FrameKind.ENDED, self.child.report()
        return FrameKind.ERROR, b"a frame out of turn"

    def _open(self, seconds: float) -> tuple[FrameKind, bytes]:
        if self.child is not None:
            self.child.end("ended", "told to end")
        self.child = Child(self.host, seconds)
        defences = self.child.answer(None)
        if defences is None:
            return FrameKind.ENDED, self.child.report()
        if defences != self.defences:
            self.child.end("ended", "told to end")
            return FrameKind.ERROR, b"a child's defences are not those of the first"
        return FrameKind.READY, b""


def main(descriptor: int) -> None:
    parent_death_signal = die_with_parent()
    control = Frames(descriptor)
    try:
        kind, body = control.receive()
        assert kind is FrameKind.SET_UP
        _serve(control, json.loads(body), parent_death_signal)
    except Hangup:
        return


def _serve(control: Frames, set_up: dict[str, Any], parent_death_signal: bool) -> None:
    limits, layers = Limits(**set_up["limits"]), Layers.from_json(set_up["layers"])
    runner: list[Callable[..., object]] = []
    attempt = ForeignCall()
    with attempt:
        module, _, name = set_up["runner"].partition(":")
        runner.append(getattr(importlib.import_module(module), name))
    if attempt.error is not None:
        control.send(FrameKind.ERROR, f"it does not load: {attempt.failure}".encode())
        return
    # existing objects never change: they need be neither collected nor, page by page, copied in a child
    gc.collect()
    gc.freeze()
    notes = Notes()
    address_space = address_space_allowed(limits, notes) if Layer.MEMORY in layers else None
    isolation = isolate(layers, notes, processes=True)
    if Layer.PARENT_DEATH in layers:
        parent_death_signal = die_with_parent()
        if not parent_death_signal:
            notes.lines.append("parent-death signal: not on this system")
    if sys.platform == "linux":
        linux.adopt_orphans()
    if "pid" in isolation.namespaces and (first := os.fork()):
        os.close(control.descriptor)
        _stand_in_for(first)
    if Layer.PARENT_DEATH in layers:
        die_with_parent()
    namespaces = ProcessNamespaces() if "pid" in isolation.namespaces else None
    host = Host(control.descriptor, runner[0], limits, layers, isolation, tuple(notes.lines), address_space, namespaces)
    if sys.platform == "linux" and isolation.unprivileged:
        linux.allow_own_proc_files(False)
    child = Child(host, _FIRST_SECONDS)
    defences = child.answer(None)
    if defences is None:
        control.send(FrameKind.ERROR, f"its first child {json.loads(child.report())['message']}".encode())
        return
    child.end("ended", "told to end")
    control.send(FrameKind.READY, defences)
    Server(control, host, defences).serve()


def _stand_in_for(first: int) -> NoReturn:
    """Wait for the first process in the new namespace, and end as it does."""
    _, status = os.waitpid(first, 0)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(int(sys.argv[1]))
