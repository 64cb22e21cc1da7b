"""An evaluator of two kinds: honest, and everything that a jail and its keeper must live with."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import errno
import functools
import itertools
import json
import os
import platform
import resource
import secrets
import signal
import subprocess
import sys
import time

from vulcan.anvil import Layout, Slot
from vulcan.doctor.attacks.attack import RUNNER
from vulcan.doctor.attacks.breakout import carry_out
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator
from vulcan.scoring.job import Limits
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded

_LEAVE = "channel.send(given['mark'].encode())"
_COPIES = (1, 100, 6000, 60_000)
"""Numbers of copies of the mark in a message: memory of different sizes comes from different places."""

_SEARCH = """
import ctypes, gc
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
PAGE = 4096
def readable(page):  # the kernel first reads the set of signals, then finds the operation to be invalid
    libc.syscall(ctypes.c_long(given['sigprocmask']), 99, ctypes.c_void_p(page), None, ctypes.c_long(8))
    return ctypes.get_errno() == 22
pages, tried = set(), set()
near = [address // PAGE * PAGE for address in (libc.sbrk(0) - 1, *map(id, gc.get_objects()), id(pages))]
while near:
    page = near.pop()
    if page > 0 and page not in tried:
        tried.add(page)
        if readable(page):
            pages.add(page)
            near += [page - PAGE, page + PAGE]
first, second = (half.encode() for half in given['halves'])  # so that the whole is nowhere in this message
found = own = 0
for page in pages:
    if not readable(page):  # any more: lists of pages were memory too
        continue
    data = ctypes.string_at(page, PAGE)
    own += data.count(given['own'].encode())
    at = data.find(first)
    while at >= 0:
        found += data[at + len(first) : at + 2 * len(first)] == second
        at = data.find(first, at + 1)
got(f'{found} {own} {len(pages) * PAGE}')
"""


def mark_server() -> ForkServer:
    """Return a server of candidates that leave and find marks."""
    return ForkServer(RUNNER, Limits(memory_bytes=512 << 20, cpu_seconds=300))


def leave_marks(server: ForkServer, halves: tuple[str, str]) -> None:
    """Have a candidate be sent, and say, messages of different sizes that consist of a mark."""
    for copies in _COPIES:
        with contextlib.suppress(ProgramEnded):  # it may end by sending the mark
            _carry_out(server, _LEAVE, {"mark": "".join(halves) * copies})


def find_marks(server: ForkServer, halves: tuple[str, str]) -> tuple[int, int, int]:
    """Have a candidate count the marks in its memory, and those of its own; return the bytes of memory too."""
    call = {"x86_64": 14, "aarch64": 135}.get(platform.machine(), -1)
    given = {"halves": halves, "own": secrets.token_hex(8), "sigprocmask": call}
    found, own, size = map(int, _carry_out(server, _SEARCH, given).split())
    return found, own, size


def _carry_out(server: ForkServer, code: str, given: dict[str, object]) -> str:
    """Return what the attack got. Raises ProgramEnded."""
    with server.open(300.0) as child:
        answer = child.ask(json.dumps({"code": code, "given": given}).encode())
    return str(json.loads(answer).get("got", "0 0 0")) if answer.startswith(b"{") else ""


_DECIDE = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 3, ctypes.c_double)
_LAYOUT = Layout(features={"load": Slot("globals", 0), "room": Slot("globals", 1)}, global_slots=2)

helpers: list[subprocess.Popen] = []
servers: list[ForkServer] = []
columns = []
_MARK = ("a mark t", "o find !")


def honest(policy):
    """The policy's sum over eleven states."""
    reference = policy.reference()
    return {"sum": sum(reference({"load": float(n), "room": float(10 - n)}) for n in range(11))}


def mapped(policy):
    """The sum over a column that is mapped into memory."""
    reference = policy.reference()
    return {"sum": float(sum(reference({"load": float(value % 50), "room": 25.0}) for value in columns[0]))}


def machine_code(policy):
    """The same by machine code made here and now."""
    code = policy.native(_LAYOUT)
    decide = _DECIDE(code.score)
    return {"sum": sum(decide((ctypes.c_double * 2)(n, 10 - n), None, None, 0.0) for n in range(11))}


def where_it_runs(policy):
    return {"pid": os.getpid()}


def environment(policy):
    return {f"{name}={value}": 1 for name, value in os.environ.items()}


def descriptors(policy):
    """Which of the first 4,096 descriptors are open, asked by a call that the jail lets through."""
    return {str(n): 1 for n in range(4096) if _denied(lambda n=n: os.lseek(n, 0, os.SEEK_CUR)) != errno.EBADF}


def _denied(step):
    """Return the error number that a step ends with; 0 where it goes through."""
    try:
        step()
    except OSError as error:
        return error.errno
    except (RuntimeError, ValueError):  # how Python reports a refused thread and a refused limit
        return -1
    return 0


def forbidden_things(policy):
    """What no attack of `vulcan doctor --attack` tries."""
    return {
        "stat": _denied(lambda: os.stat("/etc/passwd")),
        "pipe": _denied(os.pipe),
        "chdir": _denied(lambda: os.chdir("/")),
        "raise own limits": _denied(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))),
    }


def spin(policy):
    while True:
        pass


def spin_without_python(policy):
    """Native code that never looks at signals."""
    collections.deque(itertools.repeat(0), maxlen=0)


def spin_ignoring_signals(policy):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    spin(policy)


def sleep(policy):
    time.sleep(1000)


def doze(policy):
    """Honest after half a second: long enough to be watched."""
    time.sleep(0.5)
    return honest(policy)


def allocate_in_steps(policy):
    kept = []
    while True:
        kept.append(bytearray(16 << 20))


def allocate_at_once(policy):
    return {"bytes": len(bytearray(100 << 30))}


def native_code_runs_out(policy):
    os.write(2, b"LLVM ERROR: out of memory\n")
    os.abort()


def segfault(policy):
    ctypes.string_at(0)


def leave(policy):
    os._exit(3)


def system_exit(policy):
    sys.exit(0)


def raise_an_error(policy):
    raise LookupError("no such\nthing")


def recurse(policy):
    return recurse(policy)


def print_garbage(policy):
    for stream in (sys.stdout, sys.stderr):
        print("\x00garbage" * 100_000, file=stream, flush=True)
    os.write(1, b"more garbage")
    return honest(policy)


def _send(data):
    channel = int(sys.argv[1])
    while data:
        data = data[os.write(channel, data) :]


def _framed(body):
    return len(body).to_bytes(4, "big") + body


@functools.total_ordering
class InfiniteOnceAsked(float):
    def __float__(self):
        return float("inf")


BEHAVIOURS = {
    behaviour.__name__: behaviour
    for behaviour in (
        honest, mapped, machine_code, where_it_runs, environment, descriptors, forbidden_things, spin,
        spin_without_python, spin_ignoring_signals, sleep, doze, allocate_in_steps, allocate_at_once,
        native_code_runs_out, segfault, leave, system_exit, raise_an_error, recurse, print_garbage,
    )
} | {
    "abort": lambda _: os.abort(),
    "nan": lambda _: {"sum": float("nan")},
    "infinite": lambda _: {"sum": float("-inf")},
    "too_large_an_integer": lambda _: {"sum": 10**400},
    "text": lambda _: {"sum": "1.0"},
    "truth": lambda _: {"sum": True},
    "infinite_once_asked": lambda _: {"sum": InfiniteOnceAsked(1.0)},
    "nothing": lambda _: None,
    "numbered": lambda _: {1: 1.0},
    "endless_metrics": lambda _: {f"metric {n}": 1.0 for n in range(100_000)},
    "garbage": lambda _: _send(b"\xff" * 64) or time.sleep(1000),
    "not_json": lambda _: _send(_framed(b"{")) or time.sleep(1000),
    "wrong_ticket": lambda _: (
        _send(_framed(b'{"ticket": "0", "status": "scored", "metrics": [{"sum": 1.0}]}')) or time.sleep(1000)
    ),
    "half_a_reply": lambda _: _send(b"\x00\x00\x01\x00{") or os._exit(0),
    "reply_in_advance": lambda _: _send(_framed(b'{"ticket": "0", "status": "scored", "metrics": [{"sum": 1e9}]}')),
    "hang_up": lambda _: os.close(int(sys.argv[1])) or time.sleep(1000),
}  # fmt: skip


class ToyEvaluator(Evaluator):
    def instances(self, settings, split):
        return ()

    def prepare(self, instances):
        for instance in instances:
            match instance.parameters.get("prepare"):
                case "user_error":
                    raise UserError("no such trace: give another")
                case "bug":
                    raise ZeroDivisionError("in prepare")
                case "die":
                    print("the last words", file=sys.stderr)
                    os.abort()
                case "hang":
                    time.sleep(1000)
                case "helper":
                    helpers.append(subprocess.Popen(["sleep", "1000"]))
                case "mapped":
                    import numpy as np

                    columns.append(np.load(instance.parameters["path"], mmap_mode="r"))
                case "marks":
                    servers.append(mark_server())
                    servers[0].start()

    def evaluate(self, policy, instance):
        if "code" in instance.parameters:  # as if a candidate had broken out of its language
            given = {**instance.parameters["given"], "channel": int(sys.argv[1])}
            return {json.dumps(carry_out(instance.parameters["code"], given, channel=None)): 0.0}
        kind = instance.parameters.get("kind", "honest")
        if kind == "helper":
            return {"pid": os.getpid(), "helper": helpers[0].pid}
        if kind == "leave marks":
            leave_marks(servers[0], _MARK)
            return {}
        if kind == "find marks":
            return dict(zip(("of others", "its own", "bytes"), find_marks(servers[0], _MARK), strict=True))
        return BEHAVIOURS[kind](policy)

    def decisions(self, policy):
        """Return the policy's results in eleven states; a policy may ask for misbehaviour."""
        reference = policy.reference()
        match reference({"load": 0.0, "room": 0.0}):
            case 101.0:
                raise LookupError("no such\nprobe")
            case 102.0:
                return 7
            case 103.0:
                return "x" * 1000
            case 104.0:
                os.abort()
        return ",".join(f"{reference({'load': float(n), 'room': 10.0 - n}):g}" for n in range(11))

    def baselines(self):
        return {}

    def evaluate_baseline(self, name, instance):
        raise UserError(f"no baseline is called {name!r}")
