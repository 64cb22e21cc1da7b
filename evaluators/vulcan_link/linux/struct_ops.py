"""Loading of an exported policy into the running kernel, and unloading it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from vulcan.errors import UserError
from vulcan_link.linux.host import BTF, available_algorithms, require_policies

_PREFIX = "vulcan_"
# `.name = "..."` of the exported `struct tcp_congestion_ops`, of at most 15 characters (TCP_CA_NAME_MAX)
_NAME = re.compile(r'(\.name\s*=\s*)"[^"]*"')


@contextmanager
def in_the_kernel(files: Mapping[str, str]) -> Iterator[str]:
    """Compile the exported files, of which the one named `*.bpf.c` is the program, and register them.

    Returns the name under which TCP_CONGESTION selects it. It is unregistered on leaving, and where an earlier run was
    killed before it could do so, by the next one. Raises UserError where the host lacks the means, the program does
    not compile, or the kernel's verifier refuses it.
    """
    require_policies()
    unregister_abandoned()
    name = f"{_PREFIX}{os.getpid()}"
    try:
        with tempfile.TemporaryDirectory(prefix="vulcan-kernel-") as place:
            program = compile_program(files, name, Path(place))
            _run("bpftool", "struct_ops", "register", str(program), failing="the kernel refuses the policy")
        if name not in available_algorithms():
            raise UserError(f"the kernel registered the policy, but lists no congestion control {name!r}")
        yield name
    finally:
        # also where an interruption came while bpftool was at it
        if name in available_algorithms():
            unregister(name)


def compile_program(files: Mapping[str, str], name: str, directory: Path) -> Path:
    """Compile an exported policy, called `name` in the kernel, to an object file in `directory`. Raises UserError."""
    for file, text in files.items():
        (directory / file).write_text(text, encoding="utf-8")
    (program,) = directory.glob("*.bpf.c")
    source, named = _NAME.subn(rf'\g<1>"{name}"', program.read_text(encoding="utf-8"))
    if named != 1:
        raise RuntimeError(f"{program.name} names {named} congestion controls")
    program.write_text(source, encoding="utf-8")
    dump = ("bpftool", "btf", "dump", "file", str(BTF), "format", "c")
    header = _run(*dump, failing="the kernel's types cannot be read")
    (directory / "vmlinux.h").write_text(header, encoding="utf-8")
    target = program.with_suffix(".o")
    # Linux before 6.10 calls cong_control with two arguments
    flags = () if "cong_control)(struct sock *, u32" in header else ("-DCONG_CONTROL_OF_TWO",)
    compile_it = ("clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", *flags, "-I", str(directory))
    _run(*(*compile_it, "-c", str(program), "-o", str(target)), failing="the exported policy does not compile")
    return target


def unregister(name: str) -> None:
    """Unregister the congestion control of that name; flows that use it keep it until they end."""
    for number in _registered(name):
        _run("bpftool", "struct_ops", "unregister", "id", str(number), failing=f"{name} cannot be unregistered")


def unregister_abandoned() -> None:
    """Unregister policies that killed runs have left in the kernel."""
    for name in available_algorithms():
        owner = name.removeprefix(_PREFIX)
        if name.startswith(_PREFIX) and owner.isdigit() and not Path("/proc", owner).exists():
            unregister(name)


def _registered(name: str) -> list[int]:
    """Return the numbers of the kernel's struct_ops maps that hold the congestion control of that name."""
    listed = json.loads(
        _run("bpftool", "-j", "struct_ops", "dump", failing="the kernel's struct_ops are unreadable") or "[]"
    )
    # A map's description, and after it what it holds
    found = []
    for described, held in zip(listed[::2], listed[1::2], strict=True):
        operations = held.get("bpf_struct_ops_tcp_congestion_ops")
        if operations is not None and operations["data"]["name"] == name:
            found.append(int(described["bpf_map_info"]["id"]))
    return found


def _run(*command: str, failing: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    except OSError as error:
        raise UserError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        raise UserError(f"{failing}: {_reason(done.stderr) or f'exit code {done.returncode}'}")
    return done.stdout


def _reason(complaint: str) -> str:
    """Return the line with the reason: the verifier's last before its instruction count, or the first with an error."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    for line, following in pairwise(lines):
        if following.startswith("processed ") and " insns " in following:
            return line
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
