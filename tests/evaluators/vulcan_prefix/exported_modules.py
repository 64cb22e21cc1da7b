"""Exported modules of policies for prefix caches, imported as a server imports them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from exported import imported

from vulcan.anvil import Policy
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task

TASK = find_task("prefix_cache")
POLICIES = {
    "features": """
def priority(now, node, server):
    idle = now - node.last_access
    return (node.hits + 1.0) * (1.0 + node.depth / 20000.0) / (idle + 60.0) + 0.01 * node.siblings - node.tokens * 1e-6
""",
    "statistics": """
def priority(now, node, server):
    full = server.used / server.capacity + server.needed / server.capacity + 1e-6 * server.leaves
    return node.last_access + 30.0 * node.hits.max() + node.gap.ewma(0.3) - full + 5.0 * node.children
""",
    "state": """
class policy:
    bonus = 10.0

class node:
    seen = 0.0

def on_hit(now, node, server):
    node.seen = node.seen + 1.0
    policy.bonus = policy.bonus * 0.99 + 0.01 * node.gap

def on_insert(now, node, server):
    node.seen = 0.5 * (node.siblings > 2)

def on_evict(now, node, server):
    policy.bonus = policy.bonus + 0.001

def priority(now, node, server):
    return node.last_access + policy.bonus * node.seen + server.evicted_priority * 0.01
""",
}
"""Policies of what every server's cache shows."""


def exported(policy: Policy, format: str, directory: Path, name: str) -> ModuleType:
    """The module that `vulcan export --format FORMAT` writes, imported."""
    files = find_exporter(format, TASK).export(policy, Provenance("prefix_cache", name, "", "", ""))
    path = directory / f"{format}_{name}.py"
    path.write_text(next(iter(files.values())))
    return imported(path)
