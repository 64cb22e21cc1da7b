"""A policy file runs in the kernel by one command, and leaves it again."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from console import COMMAND, Console, one_line
from effort import ALL, few
from kernel_host import agreeing, as_predicted, late_ms, left_in_the_kernel, with_policies
from locations import ROOT

from vulcan_link.linux.host import available_algorithms

POLICIES = ROOT / "tasks" / "congestion_control" / "policies"
LINK = ("--link", "constant:rate=12", "--delay-ms", "21")


@with_policies
def test_reno_as_a_policy_does_in_the_kernel_what_it_is_predicted_to() -> None:
    given = (POLICIES / "reno_like.py", *LINK, "--seconds", "8" if ALL else "3")
    document = agreeing(lambda: Console(ROOT).document("kernel", "run", *given), as_predicted, late_ms)
    assert document["algorithm"] == "reno_like"
    assert not left_in_the_kernel()


@with_policies
@pytest.mark.parametrize("name", few(["copa", "bbr_like"], 1))
def test_policies_with_state_run_in_the_kernel(name: str) -> None:
    """In 20 seconds the rate and losses are those predicted, though Copa's queue is longer.

    In four, start-up is half of it, and delays of a busy host end it early: a window that never moved would use 5 %.
    """

    def rate_and_losses_are(document: dict[str, Any]) -> None:
        kernel, simulator = document["kernel"], document["simulator"]
        assert kernel["utilisation"] > (simulator["utilisation"] - 0.08 if ALL else 0.5)
        assert kernel["loss"] == pytest.approx(simulator["loss"], abs=0.05)
        assert kernel["queueing_delay_avg_ms"] < 20

    given = (POLICIES / f"{name}.py", *LINK, "--slow-start", "policy", "--seconds", "20" if ALL else "4")
    agreeing(lambda: Console(ROOT).document("kernel", "run", *given), rate_and_losses_are, late_ms)


@with_policies
@pytest.mark.slow
def test_a_policy_competes_in_the_kernel_as_it_is_predicted_to() -> None:
    """`bdp` yields to CUBIC: its measuring windows, of a few packets then, must be those of the simulator.

    Where they ended a packet early, it got 6 to 8 of 20 Mbit/s.
    """

    def as_much(document: dict[str, Any]) -> None:
        (mine, cubic), (predicted, _) = (document[part]["flows"] for part in ("kernel", "simulator"))
        assert mine["goodput_mbps"] < 1.5 * predicted["goodput_mbps"]
        assert cubic["goodput_mbps"] > 12

    given = (POLICIES / "bdp.py", "--link", "constant:rate=20", "--buffer", "67", "--seconds", "12")
    beside = ("--competing", "cubic", "--exact-clock", "--jitter-ms", "0.5")
    document = agreeing(lambda: Console(ROOT).document("kernel", "run", *given, *beside), as_much, late_ms)
    assert document["competing"] == ["cubic"]


PACED = """
class policy:
    sent = 0

def on_ack(state, window, flow):
    flow.pacing_bps = 3000000

def cwnd(state, window):
    return 60
"""


@with_policies
@pytest.mark.slow
def test_the_kernel_paces_at_the_rate_of_the_policy(tmp_path: Path) -> None:
    """Without it, a window of 60 packets fills the link and has a queue of 20 packets."""
    (tmp_path / "paced.py").write_text(PACED)

    def a_quarter(document: dict[str, Any]) -> None:
        assert document["kernel"]["goodput_mbps"] == pytest.approx(3, rel=0.05)
        assert document["simulator"]["goodput_mbps"] == pytest.approx(3, rel=0.02)
        assert document["kernel"]["queueing_delay_p95_ms"] < 5

    given = (tmp_path / "paced.py", *LINK, "--seconds", "4", "--slow-start", "policy")
    agreeing(lambda: Console(ROOT).document("kernel", "run", *given), a_quarter, late_ms)


@with_policies
def test_an_interruption_takes_the_policy_out_of_the_kernel() -> None:
    command = (COMMAND, "kernel", "run", POLICIES / "reno_like.py", *LINK, "--seconds", "60")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "sending for 60 s\n"
        assert f"vulcan_{process.pid}" in available_algorithms()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == (
            "interrupted; nothing is left of the link, and the policy is out of the kernel\n"
        )
    assert process.returncode == 130
    assert not left_in_the_kernel()


FINE = "def cwnd(state, window):\n    return 10\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "said"),
    [
        ("cubik", None, (), "no congestion control 'cubik'; did you mean 'cubic'?"),
        ("missing.py", None, (), "cannot read the policy missing.py"),
        ("wild.py", "def cwnd(state, window):\n    return state.speed\n", (), "wild.py: "),
        ("fine.py", FINE, ("--called", "never"), "--called 'never'"),
        ("fine.py", FINE, ("--seconds", "0"), "--seconds 0"),
        ("cubic", None, ("--competing", "cubic:0"), "--competing 'cubic:0'"),
    ],
)
@with_policies
def test_a_mistake_is_one_line_and_leaves_nothing(
    tmp_path: Path, name: str, text: str | None, options: tuple[str, ...], said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
        name = str(tmp_path / name)
    assert said in one_line(Console(ROOT)("kernel", "run", name, *LINK, *options))
    assert not left_in_the_kernel()
