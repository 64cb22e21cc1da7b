"""The processes of a run end with it, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path

from locations import SUPPORT
from waiting import wait_for_end

from vulcan.scoring.sandbox.processes import is_alive
from vulcan_link.linux.processes import Channel, children


def answer(channel: Channel) -> None:
    question, device = channel.recv(), recv_handle(channel)
    channel.send({"squared": question**2, "read": os.read(device, 10)})
    channel.recv()


def test_messages_and_open_files_go_both_ways() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello")
    with children() as start:
        child = start("child", answer)
        child.channel.send(7)
        send_handle(child.channel, reading, 0)
        assert child.take() == {"squared": 49, "read": b"hello"}
    os.close(reading)
    os.close(writing)


def tell_number(channel: Channel) -> None:
    channel.send(os.getpid())
    time.sleep(60)


def test_children_end_when_the_run_does() -> None:
    with children() as start:
        numbers = [start("child", tell_number).take() for _ in range(2)]
        assert all(map(is_alive, numbers))
    assert wait_for_end(numbers)


def test_children_end_when_their_parent_is_killed() -> None:
    program = (
        "import sys, time; sys.path[:0] = sys.argv[1:]\n"
        "from test_processes import tell_number\n"
        "from vulcan_link.linux.processes import children\n"
        "with children() as start:\n"
        "    print(start('child', tell_number).take(), flush=True); time.sleep(60)\n"
    )
    here = (str(Path(__file__).parent), str(SUPPORT))
    with subprocess.Popen([sys.executable, "-c", program, *here], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        number = int(parent.stdout.readline())
        assert is_alive(number)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert wait_for_end([number])
