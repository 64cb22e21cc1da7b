"""Attacks by two candidates: the first leaves a mark in what it is sent and says, and the second looks for it."""

from __future__ import annotations

import json
import platform
import secrets

from vulcan.doctor.attacks.in_program import RUNNER
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
    return ForkServer(RUNNER, Limits(memory_bytes=512 << 20, cpu_seconds=60))


def leave_marks(server: ForkServer, halves: tuple[str, str]) -> None:
    """Have a candidate be sent, and say, messages of different sizes that consist of a mark."""
    for copies in _COPIES:
        _carry_out(server, _LEAVE, {"mark": "".join(halves) * copies})


def find_marks(server: ForkServer, halves: tuple[str, str]) -> tuple[int, int, int]:
    """Have a candidate count the marks in its memory, and those of its own; return the bytes of memory too."""
    call = {"x86_64": 14, "aarch64": 135}.get(platform.machine(), -1)
    given = {"halves": halves, "own": secrets.token_hex(8), "sigprocmask": call}
    found, own, size = map(int, _carry_out(server, _SEARCH, given).split())
    return found, own, size


def _carry_out(server: ForkServer, code: str, given: dict[str, object]) -> str:
    """Return what the attack got; the one that leaves a mark may end by sending it."""
    with server.open(60.0) as child:
        try:
            answer = child.ask(json.dumps({"code": code, "given": given}).encode())
        except ProgramEnded:
            return "0 0 0"
    return str(json.loads(answer).get("got", "0 0 0")) if answer.startswith(b"{") else ""
