"""Exported modules of policies for prefix caches, imported as a server imports them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from exported import imported

from vulcan.anvil import Policy
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task

TASK = find_task("prefix_cache")
FEATURES = """
def priority(now, node, server):
    idle = now - node.last_access
    return (node.hits + 1.0) * (1.0 + node.depth / 20000.0) / (idle + 60.0) + 0.01 * node.siblings - node.tokens * 1e-6
"""


def exported(policy: Policy, format: str, directory: Path, name: str) -> ModuleType:
    """The module that `vulcan export --format FORMAT` writes, imported."""
    files = find_exporter(format, TASK).export(policy, Provenance("prefix_cache", name, "", "", ""))
    path = directory / f"{format}_{name}.py"
    path.write_text(next(iter(files.values())))
    return imported(path)
