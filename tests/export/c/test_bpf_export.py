"""The program for the kernel: what is written, that clang compiles it, and that the kernel takes it and sends by it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from c_programs import provenance
from effort import few
from test_c_fixed import POLICIES, TASK

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export import find_exporter
from vulcan.registry import find_task

BTF = Path("/sys/kernel/btf/vmlinux")
MAIN = "congestion_control.bpf.c"
BYTES = 64 << 20


def exported(source: str, place: Path, **settings: str) -> dict[str, str]:
    origin = provenance(TASK.name)
    object.__setattr__(origin, "settings", settings)
    files = find_exporter("bpf").export(check(source, TASK), origin)
    for name, text in files.items():
        (place / name).write_text(text)
    return files


def name_of(files: dict[str, str]) -> str:
    (found,) = re.findall(r'\.name = "([^"]*)"', files[MAIN])
    return found


def bpftool() -> str | None:
    return shutil.which("bpftool", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def types_of_the_kernel(clang: str | None) -> str:
    """The text of `vmlinux.h`, that of the running kernel."""
    tool = bpftool()
    if clang is None or tool is None:
        pytest.skip("no such clang or no bpftool")
    if not BTF.exists():
        pytest.skip(f"this kernel does not give its types ({BTF})")
    dump = [tool, "btf", "dump", "file", str(BTF), "format", "c"]
    done = subprocess.run(dump, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"bpftool cannot read this kernel's types: {done.stderr.strip()}")
    return done.stdout


@pytest.fixture(scope="module")
def kernel_types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `vmlinux.h`."""
    place = tmp_path_factory.mktemp("types")
    (place / "vmlinux.h").write_text(types_of_the_kernel(shutil.which("clang")))
    return place


def compiled(place: Path, types: Path) -> Path:
    """As the Makefile compiles it; no warning is let pass."""
    flags = ["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-I", str(types)]
    if "cong_control)(struct sock *, u32" not in (types / "vmlinux.h").read_text():
        flags.append("-DCONG_CONTROL_OF_TWO")
    target = place / "program.o"
    done = subprocess.run(["clang", *flags, "-I", str(place), "-c", str(place / MAIN), "-o", str(target)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    return target


def test_the_files_are_whole(tmp_path: Path) -> None:
    files = exported(POLICIES["evolved"], tmp_path, called="round")
    assert list(files) == [MAIN, "policy.h", "Makefile", "README.md"]
    assert not [name for name, text in files.items() if re.search(r"@[A-Z]+@", text)]
    assert len(name_of(files)) <= 15
    assert name_of(files) in files["README.md"]
    assert "#define SETTING_CALLED_ROUND\n" in files[MAIN]
    assert "#define SETTING_SLOW_START_MECHANISM\n" in files[MAIN]
    shown = set(re.findall(r"policy_set_(\w+)\(", files[MAIN]))
    assert shown == {name.replace(".", "_") for name, _ in TASK.signature.features()}


def test_a_task_without_a_use_in_the_kernel_says_so() -> None:
    cache = find_task("cache_eviction")
    policy = check(cache.seed_policies()["lru"], cache)
    with pytest.raises(UserError, match="'cache_eviction' have no use in the kernel"):
        find_exporter("bpf").export(policy, provenance("cache_eviction"))


@pytest.mark.parametrize("settings", [{}, {"called": "round", "slow_start": "policy"}], ids=["ack", "round"])
@pytest.mark.parametrize("name", few(POLICIES, 3))
def test_clang_compiles_the_program_without_a_warning(
    name: str, settings: dict[str, str], tmp_path: Path, kernel_types: Path
) -> None:
    exported(POLICIES[name], tmp_path, **settings)
    assert compiled(tmp_path, kernel_types).stat().st_size > 1000


REMEMBERED = """
class policy:
    a = [3] * 4096
    expired = 0
    u = 0
def on_timer(state, window, flow):
    policy.expired = 1
def on_window(state, window, flow):
    policy.u = random()
def on_ack(state, window, flow):
    policy.a[hash(state.delivered_packets, 7)] = 4 + (policy.u >= 1)
    policy.a[-1] = 5
    flow.timer_after_us = flow.timer_us if flow.timer_us else 1 + 0 * flow.in_slow_start
def on_loss(state, window, flow):
    policy.a[-1] = 9
def on_ecn(state, window, flow):
    policy.a[-1] = 10
def on_timeout(state, window, flow):
    policy.a[-1] = 11
def cwnd(state, window):
    return policy.a[hash(state.delivered_packets, 7)] + policy.a[4095] + 10 * policy.expired
"""
"""As much state as the task allows, every handler, and a timer; its window over loopback is 19."""


@pytest.fixture
def privileged() -> str:
    """The path of bpftool."""
    tool = bpftool()
    if os.geteuid() != 0:
        pytest.skip("only root may load programs into the kernel")
    if tool is None:
        pytest.skip("no bpftool")
    return tool


def registered(tool: str, program: Path) -> Iterator[None]:
    done = subprocess.run([tool, "struct_ops", "register", str(program)], capture_output=True, text=True, check=False)
    if "Operation not permitted" in done.stderr and "BEGIN PROG LOAD LOG" not in done.stderr:
        pytest.skip("this host does not let root use bpf()")
    assert done.returncode == 0, done.stderr[-3000:]
    number = re.search(r"id (\d+)", done.stdout + done.stderr)
    assert number is not None, done.stdout + done.stderr
    try:
        yield
    finally:
        subprocess.run([tool, "struct_ops", "unregister", "id", number[1]], capture_output=True, check=True)


def transfer(algorithm: str) -> tuple[int, str, int]:
    """Send over loopback under that congestion control.

    Gives the bytes received, and what the socket says it used, and its window.
    """
    received = 0
    with socket.socket() as listening, socket.socket() as sender:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        sender.settimeout(60)
        sender.connect(listening.getsockname())
        receiver, _ = listening.accept()

        def receive() -> None:
            nonlocal received
            with receiver:
                while chunk := receiver.recv(1 << 20):
                    received += len(chunk)

        thread = threading.Thread(target=receive)
        thread.start()
        for _ in range(BYTES >> 20):
            sender.sendall(bytes(1 << 20))
        used = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        window = int.from_bytes(sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 84)[80:], "little")
        sender.shutdown(socket.SHUT_WR)
        thread.join(timeout=60)
    return received, used, window


def available() -> list[str]:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@pytest.mark.parametrize("name", few(POLICIES, 2))
def test_the_kernel_takes_the_program_and_sends_by_it(
    name: str, tmp_path: Path, kernel_types: Path, privileged: str
) -> None:
    files = exported(POLICIES[name], tmp_path)
    program = compiled(tmp_path, kernel_types)
    algorithm = name_of(files)
    registration = registered(privileged, program)
    next(registration)
    try:
        assert algorithm in available()
        assert transfer(algorithm)[:2] == (BYTES, algorithm)
    finally:
        registration.close()
    assert algorithm not in available()


def test_the_kernel_keeps_the_state_of_a_connection(tmp_path: Path, kernel_types: Path, privileged: str) -> None:
    files = exported(REMEMBERED, tmp_path, slow_start="policy")
    registration = registered(privileged, compiled(tmp_path, kernel_types))
    next(registration)
    try:
        assert transfer(name_of(files)) == (BYTES, name_of(files), 19)
    finally:
        registration.close()


def test_the_kernel_follows_a_count_over_many_observations(tmp_path: Path, kernel_types: Path, privileged: str) -> None:
    """Its verifier follows both ways of each branch: with one for each observation it gave up at a window of 16."""
    counts = """
def cwnd(state, window):
    calm = window.lost_packets.count(state.lost_packets, 250) > 8
    marked = window.ecn_packets.contains(state.ecn_marked_packets + 1, 250)
    if calm and not marked:
        return state.cwnd_packets + 1
    return min(state.cwnd_packets, 20) + marked
"""
    files = exported(counts, tmp_path)
    registration = registered(privileged, compiled(tmp_path, kernel_types))
    next(registration)
    try:
        assert transfer(name_of(files))[:2] == (BYTES, name_of(files))
    finally:
        registration.close()
