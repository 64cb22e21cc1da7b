"""Attacks on the host by raw Python and raw system calls, as if the language's checker had been bypassed."""

from vulcan.doctor.attacks.attack import OWN_PROCESS, Attack
from vulcan.scoring.sandbox.layers import Layer

_PATHS = (Layer.SECCOMP, Layer.LANDLOCK, Layer.EMPTY_ROOT, Layer.OPEN_FILES)
_OWNERS_FILES = (*_PATHS, Layer.UNPRIVILEGED)
_OTHERS = (Layer.SECCOMP, Layer.PROCESS_NAMESPACE, Layer.UNPRIVILEGED, Layer.LANDLOCK)
_SOCKETS = (Layer.SECCOMP, Layer.NETWORK, Layer.OPEN_FILES)
_ENDLESS = (Layer.WALL_CLOCK, Layer.PROCESSOR)
_GIB = 1 << 30

_RAW = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
"""

SYSTEM_ATTACKS = (
    Attack("read /etc/passwd", "got(open('/etc/passwd').read()[:20])", _PATHS),
    Attack("read the run store", "got(open(given['store']).read()[:20])", _OWNERS_FILES),
    Attack("read a trace from its file", "got(open(given['trace']).read()[:20])", _PATHS),
    Attack("list a directory", "import os\ngot(os.listdir(given['directory']))", _PATHS),
    Attack(
        "API key in the environment",
        """
import os
libc_view = os.environ.get(given['variable']) or os.getenvb(given['variable'].encode())
if libc_view:
    got(libc_view)
""",
        (Layer.ENVIRONMENT,),
    ),
    Attack(
        "API key in the parent's /proc files",
        "got(open(f\"/proc/{given['victim']}/environ\", 'rb').read()[:20])",
        _OWNERS_FILES,
    ),
    Attack(
        "memory of the parent by /proc",
        "import os\nos.open(f\"/proc/{given['victim']}/mem\", os.O_RDWR)\ngot('opened')",
        _OWNERS_FILES,
    ),
    Attack(
        "memory of another candidate",
        _RAW
        + """
class Vector(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
mine = ctypes.create_string_buffer(8)
here, there = Vector(ctypes.addressof(mine), 8), Vector(given['address'], 8)
checked(libc.process_vm_readv(given['victim'], ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
got(mine.raw)
""",
        _OTHERS,
    ),
    Attack(
        "shared memory of another candidate",
        _RAW + "checked(libc.shmget(given['shared_key'], 0, 0))\ngot('found')",
        (Layer.SECCOMP, Layer.NETWORK),
    ),
    Attack(
        "write a file",
        "import os\nfile = os.open(given['store'], os.O_WRONLY)\nos.write(file, b'forged')\ngot('written')",
        (*_OWNERS_FILES, Layer.FILE_SIZE),
    ),
    Attack(
        "delete a file",
        "import os\nos.unlink(given['doomed'])\ngot('deleted')",
        (Layer.SECCOMP, Layer.LANDLOCK, Layer.EMPTY_ROOT, Layer.UNPRIVILEGED),
    ),
    Attack(
        "fill the disk",
        """
import os
file = os.open(given['filled'], os.O_WRONLY | os.O_CREAT)
for _ in range(given['blocks']):
    os.write(file, bytes(1 << 16))
got('filled')
""",
        (*_OWNERS_FILES, Layer.FILE_SIZE),
        given={"blocks": 1 << 20},
        harmless={"blocks": 16},
    ),
    Attack(
        "TCP connection",
        "import socket\nsocket.socket().connect(('127.0.0.1', given['tcp']))\ngot('connected')",
        (*_SOCKETS, Layer.LANDLOCK),
    ),
    Attack(
        "UDP datagram",
        """
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b'secret', ('127.0.0.1', given['udp']))
got('sent')
""",
        _SOCKETS,
    ),
    Attack(
        "Unix socket",
        "import socket\nsocket.socket(socket.AF_UNIX).connect(given['unix'])\ngot('connected')",
        (*_SOCKETS, Layer.LANDLOCK),
    ),
    Attack(
        "fork bomb",
        """
import os, signal
for _ in range(given['forks']):
    if os.fork() == 0:
        signal.pause()
got('forked')
""",
        (Layer.SECCOMP, Layer.PROCESSES),
        given={"forks": 1 << 20},
        harmless={"forks": 4},
    ),
    Attack(
        "threads",
        _RAW
        + """
for _ in range(given['threads']):
    refusal = libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None)
    if refusal:
        raise OSError(refusal, 'refused')
got('started')
""",
        (Layer.SECCOMP, Layer.PROCESSES),
        given={"threads": 1 << 20},
        harmless={"threads": 4},
    ),
    Attack(
        "run another program",
        """
import os
try:
    os.set_inheritable(given['channel'], True)
except OSError:
    pass
os.execv('/bin/sh', ['sh', '-c', 'exit 99'])
""",
        _PATHS,
    ),
    Attack(
        "100 GB of memory in one piece",
        "block = bytes(given['bytes'])\ngot(len(block))",
        (Layer.MEMORY,),
        given={"bytes": 100 * _GIB},
        harmless={"bytes": _GIB // 2},
    ),
    Attack(
        "100 GB of memory in steps",
        """
kept = []
for _ in range(given['bytes'] >> 24):
    kept.append(bytearray(1 << 24))
got(len(kept))
""",
        (Layer.MEMORY,),
        given={"bytes": 100 * _GIB},
        harmless={"bytes": _GIB // 2},
    ),
    Attack("infinite loop", "while True: pass", _ENDLESS, seconds=0.5),
    Attack(
        "infinite loop that ignores signals",
        """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True: pass
""",
        _ENDLESS,
        seconds=0.5,
    ),
    Attack(
        "infinite loop outside of Python",
        "import collections, itertools\ncollections.deque(itertools.repeat(0), maxlen=0)",
        _ENDLESS,
        seconds=0.5,
    ),
    Attack("sleep", "import time\ntime.sleep(600)", (Layer.SECCOMP, Layer.WALL_CLOCK), seconds=0.5),
    Attack(
        "deep recursion",
        "import sys\nsys.setrecursionlimit(10**9)\ndeeper = lambda x: list(map(deeper, [x]))\ndeeper(0)",
        (OWN_PROCESS,),
    ),
    Attack("os._exit", "import os\nos._exit(0)", (OWN_PROCESS,)),
    Attack("write to address 0", "import ctypes\nctypes.memset(0, 0, 1)", (OWN_PROCESS,)),
    Attack(
        "kill the parent",
        "import os, signal\nos.kill(given['victim'], signal.SIGCONT)\ngot('signalled')",
        _OTHERS,
    ),
    Attack(
        "kill everybody",
        """
import os
def can_signal(pid):
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error
found = [pid for pid in range(1, 1 << 16) if pid != os.getpid() and can_signal(pid) is None]
if found:
    got(f'{len(found)} processes')
else:
    raise can_signal(given['victim'])
""",
        (Layer.SECCOMP, Layer.PROCESS_NAMESPACE, Layer.LANDLOCK),
    ),
    Attack(
        "kill its own group",
        """
import os, signal, time
os.killpg(0, signal.SIGKILL)
until = time.monotonic() + 1
while time.monotonic() < until:
    pass
""",
        (Layer.SECCOMP, Layer.SESSION, Layer.LANDLOCK),
    ),
    Attack(
        "ptrace the parent",
        _RAW + "checked(libc.ptrace(0x4206, ctypes.c_long(given['victim']), None, None))\ngot('attached')",
        _OTHERS,
    ),
    Attack(
        "raw system call: openat",
        _RAW + "checked(libc.syscall(ctypes.c_long(given['openat']), -100, b'/etc/passwd', 0))\ngot('opened')",
        _PATHS,
    ),
    Attack(
        "raw system call: io_uring",
        _RAW
        + """
parameters = ctypes.create_string_buffer(256)
checked(libc.syscall(ctypes.c_long(425), 1, parameters))
got('has a ring')
""",
        (Layer.SECCOMP, Layer.OPEN_FILES, Layer.OTHER_LIMITS),
    ),
    Attack(
        "machine code of its own",
        "import mmap\nmmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\ngot('mapped')",
        (Layer.SECCOMP,),
    ),
    Attack(
        "a user namespace with every capability",
        _RAW + "checked(libc.unshare(0x10000000))\ngot('entered')",
        (Layer.SECCOMP, Layer.EMPTY_ROOT),
    ),
    Attack("another root directory", "import os\nos.chroot('/')\ngot('changed')", (Layer.SECCOMP, Layer.UNPRIVILEGED)),
    Attack(
        "descriptors left open",
        """
import os
written = 0
for number in range(64):
    if number != given['channel']:
        try:
            os.write(number, given['forgery'].encode('latin-1'))
            written += number > 2
        except OSError as error:
            refusal = error
if not written:
    raise refusal
got(f'{written} written to')
""",
        (Layer.DESCRIPTORS,),
    ),
    Attack("giant output", "channel.send(bytes(16 << 20))", (Layer.MESSAGES,)),
    Attack("answers in advance", "for _ in range(3): channel.send(b'{\"early\": 1}')", (Layer.MESSAGES,)),
)
