"""Attacks in a forked child: raw, unchecked Python in place of a program."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from vulcan.closing import Closing
from vulcan.doctor.attacks import breakout
from vulcan.doctor.attacks.attack import Attack, AttackObservation
from vulcan.scoring.job import Limits
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded, ServerLost
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.lockdown import Defences

RUNNER = f"{breakout.__name__}:{breakout.run.__name__}"
_TIMEOUT_SECONDS = 2.0
"""Seconds after which an attack that nothing ends is assumed to run forever."""
_TIMEOUT_WITH_LIMIT_SECONDS = 120.0
"""The same, if a limit of one second of processor time should end the attack."""

_MEMORY = 256 << 20


class ForkedRange(Closing):
    """A range for attacks in forked children, one child each, under the given layers."""

    def __init__(self, given: Mapping[str, object], layers: Layers = ALL, *, weak_host: bool = False) -> None:
        """Create a range. With `weak_host`, one is opened even where the host cannot sandbox free Python."""
        self._given = given
        limits = Limits(memory_bytes=_MEMORY, cpu_seconds=1)
        self._server = ForkServer(RUNNER, limits, layers=layers, allow_unsandboxed=weak_host)
        self._harmless = bool(layers.off) or weak_host
        self.layers = layers

    def start(self) -> Defences:
        return self._server.start()

    def carry_out(self, attack: Attack) -> AttackObservation:
        """Carry out the attack, in its harmless form if a layer is left out or the host may lack one."""
        given = {**self._given, **attack.given, **(attack.harmless if self._harmless else {})}
        order = {"code": attack.code, "given": given}
        self.start()
        Path(str(self._given["doomed"])).write_text("a score of 0.5\n", encoding="utf-8")
        endless = Layer.WALL_CLOCK not in self.layers
        to_be_ended = Layer.PROCESSOR in attack.stopped_by and Layer.PROCESSOR in self.layers
        seconds = _TIMEOUT_WITH_LIMIT_SECONDS if to_be_ended else _TIMEOUT_SECONDS
        patience = threading.Timer(seconds, self._server.interrupt)
        if endless:
            patience.start()
        try:
            return self._evidence(json.dumps(order).encode(), attack.seconds)
        except ServerLost:
            self._server.close()
            what = f"still at it after {seconds:g} s" if endless else "the server is dead"
            return AttackObservation(what, "", "")
        finally:
            patience.cancel()

    def _evidence(self, order: bytes, seconds: float) -> AttackObservation:
        with self._server.open(seconds) as child:
            try:
                first, second = child.ask(order), child.ask(b"{}")
            except ProgramEnded as ended:
                return _evidence_of_end(ended)
        if len(first) > _MEMORY // 64:
            return AttackObservation(f"{len(first)} bytes taken", "", "")
        came, then = json.loads(first), json.loads(second)
        if "pong" not in then:
            return AttackObservation("an answer taken that was there before the question", "", "")
        return AttackObservation(came.get("got"), came.get("sign", ""), came.get("detail", ""))

    def close(self) -> None:
        self._server.close()


def _evidence_of_end(ended: ProgramEnded) -> AttackObservation:
    message = ended.message
    if "exit code 99" in message:
        return AttackObservation("it ran", "", message)
    match ended.status:
        case "timeout":
            sign = "processor" if "processor" in message else "timeout"
        case "memory":
            sign = "memory"
        case _ if "answered" in message or "spoke" in message:
            sign = "message"
        case _ if "killed by SIG" in message:
            sign = message.rpartition(" ")[2]
        case _:
            sign = "exit"
    return AttackObservation(None, sign, message)
