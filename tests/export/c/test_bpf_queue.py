"""Queue disciplines for the kernel: clang compiles each policy's, and a kernel that has them drops by it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_programs import provenance
from test_bpf_export import types_of_the_kernel

from vulcan.anvil import check
from vulcan.export import find_exporter
from vulcan.registry import find_task

TASK = find_task("active_queue_management")
TYPES = "struct bpf_sk_buff_ptr {\n\tstruct sk_buff *skb;\n};\n"
HALF = "def drop_probability(queue):\n    return 0.5\n"
POLICIES = {"half": HALF, **TASK.seed_policies()}


def built(source: str, place: Path) -> Path:
    """The program, by the types of the running kernel and the one that it may lack."""
    clang = next((name for name in ("clang", "clang-19", "clang-16") if _emits_tags(name)), None)
    types = types_of_the_kernel(clang)
    for name, text in find_exporter("bpf").export(check(source, TASK), provenance(TASK.name)).items():
        (place / name).write_text(text)
    lacks = "struct bpf_sk_buff_ptr {" not in types
    (place / "vmlinux.h").write_text(types + TYPES * lacks)
    made = subprocess.run(["make", f"CLANG={clang} -Werror"], cwd=place, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:3000]
    return place / "queue_discipline.bpf.o"


def _emits_tags(clang: str) -> bool:
    """Clang has written the tags of types, by which the kernel knows a pointer to a packet, since its version 15."""
    if shutil.which(clang) is None:
        return False
    version = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)", version)
    return found is not None and int(found[1]) >= 15


@pytest.mark.parametrize("name", POLICIES)
def test_clang_compiles_the_queue_without_a_warning(name: str, tmp_path: Path) -> None:
    assert built(POLICIES[name], tmp_path).stat().st_size > 1000


@pytest.mark.skipif(
    "bpf_qdisc_skb_drop" not in Path("/proc/kallsyms").read_text(),
    reason="this kernel is built without CONFIG_NET_SCH_BPF: queue disciplines in BPF, which Linux has since 6.16",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may load programs into the kernel")
@pytest.mark.parametrize("name", POLICIES)
def test_the_kernel_takes_the_queue(name: str, tmp_path: Path) -> None:
    program = built(POLICIES[name], tmp_path)
    subprocess.run(["make", "register"], cwd=program.parent, check=True)
    try:
        identity = re.findall(r'\.id = "(.*)"', (program.parent / "queue_discipline.bpf.c").read_text())
        inside = f"ip link set lo up; tc qdisc replace dev lo root {identity[0]}; ping -q -f -c 400 127.0.0.1;"
        inside += "tc -s qdisc show dev lo"
        done = subprocess.run(["unshare", "-n", "sh", "-c", inside], capture_output=True, text=True, check=False)
        sent, dropped = map(int, re.findall(r"bytes (\d+) pkt \(dropped (\d+)", done.stdout)[0])
        share = dropped / (sent + dropped)
        assert 0.4 < share < 0.6 if name == "half" else share < 0.1, done.stdout
    finally:
        subprocess.run(["make", "unregister"], cwd=program.parent, check=True)
