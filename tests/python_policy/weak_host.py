"""A host without seccomp: `python weak_host.py COMMAND ...` runs a command on one.

Made by a filter of seccomp itself, which lets no process that comes of this one install another: what runs there finds
the kernel refusing, as it does where a container or an older kernel has none.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

from vulcan.scoring.sandbox.linux import (
    ALLOW,
    CALL_NUMBER,
    JUMP_IF_EQUAL,
    LOAD,
    PR_SET_NO_NEW_PRIVS,
    RETURN,
    SECCOMP_SET_MODE_FILTER,
)
from vulcan.scoring.sandbox.seccomp_allowlist import this_architecture

NO_SUCH_CALL = 0x0005_0000 | errno.ENOSYS


def main() -> None:
    architecture = this_architecture()
    assert architecture is not None
    instructions = (
        (LOAD, 0, 0, CALL_NUMBER),
        (JUMP_IF_EQUAL, 0, 1, architecture.seccomp),
        (RETURN, 0, 0, NO_SUCH_CALL),
        (RETURN, 0, 0, ALLOW),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in instructions))
    program = struct.pack("=HxxxxxxQ", len(instructions), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3) == 0
    done = libc.syscall(ctypes.c_long(architecture.seccomp), SECCOMP_SET_MODE_FILTER, 0, program)
    assert done == 0, os.strerror(ctypes.get_errno())
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
