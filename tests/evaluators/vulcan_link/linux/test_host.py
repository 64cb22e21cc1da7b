"""Without the privilege, the command says what is missing: one line, exit code 2."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from console import COMMAND

from vulcan.errors import UserError
from vulcan_link.linux import host

RUN = (COMMAND, "kernel", "run", "cubic", "--link", "constant:rate=12", "--seconds", "1")
_PR_CAPBSET_DROP, _CAP_NET_ADMIN, _CAP_SYS_ADMIN = 24, 12, 21


def drop_capabilities() -> None:
    """What this process starts next has neither capability, also as root."""
    for capability in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN):
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="another line is said there")
def test_the_command_names_the_missing_privilege() -> None:
    root = os.geteuid() == 0
    done = subprocess.run(
        RUN, capture_output=True, text=True, check=False, preexec_fn=drop_capabilities if root else None
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert done.stdout == ""
    assert line.startswith("vulcan: a run in the kernel needs the capability CAP_NET_ADMIN (run as root), the cap")


def test_everything_that_is_missing_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "TUN", tmp_path / "tun")
    monkeypatch.setattr(host, "BTF", tmp_path / "btf")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError) as raised:
        host.require_policies()
    for missing in (str(tmp_path / "tun"), str(tmp_path / "btf"), "the command clang", "the command bpftool"):
        assert missing in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_algorithm_that_the_kernel_lacks_is_named_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "available").write_text("reno cubic bbr\n")
    monkeypatch.setattr(host, "_AVAILABLE", tmp_path / "available")
    host.require_algorithm("bbr")
    with pytest.raises(UserError, match="no congestion control 'cubik'; did you mean 'cubic'"):
        host.require_algorithm("cubik")
