"""Host requirements of a run, and the error that names what is missing."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan_link.linux.namespace import TUN

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
BTF = Path("/sys/kernel/btf/vmlinux")


def missing_for_namespaces() -> list[str]:
    """Return the missing requirements for two linked network namespaces; empty if there are none."""
    if sys.platform != "linux":
        return [f"Linux (this is {sys.platform})"]
    held = _effective_capabilities()
    missing = [f"the capability {name} (run as root)" for name, bit in _CAPABILITIES.items() if not held >> bit & 1]
    if not TUN.exists():
        missing.append(f"{TUN} (a kernel with CONFIG_TUN, and in a container --device {TUN})")
    elif not os.access(TUN, os.R_OK | os.W_OK):
        missing.append(f"permission to open {TUN}")
    if not _AVAILABLE.exists():
        missing.append(f"{_AVAILABLE}")
    return missing


def missing_for_policies() -> list[str]:
    """Return the missing requirements for a policy in the kernel, besides namespaces."""
    missing = [f"the command {command}" for command in ("clang", "bpftool") if shutil.which(command) is None]
    if not BTF.exists():
        missing.append(f"{BTF} (a kernel with CONFIG_DEBUG_INFO_BTF)")
    if sys.platform == "linux" and not _effective_capabilities() >> 39 & 1 and not _effective_capabilities() >> 21 & 1:
        missing.append("the capability CAP_BPF (run as root)")
    return missing


def require_namespaces() -> None:
    """Raises UserError naming everything that is missing."""
    _require(missing_for_namespaces())


def require_policies() -> None:
    """Raises UserError naming everything that is missing."""
    _require(missing_for_namespaces() + missing_for_policies())


def available_algorithms() -> list[str]:
    """Return the congestion controls that the running kernel has."""
    return _AVAILABLE.read_text().split()


def require_algorithm(name: str) -> None:
    """Raises UserError where the running kernel has no such congestion control."""
    known = available_algorithms()
    if name not in known:
        raise UserError(
            f"this kernel has no congestion control {name!r}{did_you_mean(name, known)} (it has: {', '.join(known)}; "
            "a policy is named by its file, as mine.py)"
        )


def _require(missing: list[str]) -> None:
    if missing:
        raise UserError(f"a run in the kernel needs {', '.join(missing)}")


def _effective_capabilities() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0
