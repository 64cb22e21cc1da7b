"""Libraries made by hand, and what is exported of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vulcan.documents.library import Matrix, Origin, TrainedInstance, Workload
from vulcan.evaluator import Instance
from vulcan.portfolio.model import Library, LibraryMember
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.simulator import CacheSimulator

TASK = find_task("cache_eviction")
MRU = '''"""The latest leaves.

And again, "over" several
    lines."""


def priority(now, obj, cache, ghost):
    return -obj.last_access
'''
HYPERBOLIC = "def priority(now, obj, cache, ghost):\n    return obj.count / (now - obj.insertion + 1)\n"

ZIPF = (
    "zipf:requests=6000,objects=900,alpha=0.9,seed=1,name=z1",
    "zipf:requests=6000,objects=900,alpha=1.0,seed=2,name=z2",
)
LOOPS = ("loop:requests=6000,objects=500,name=l1", "loop:requests=6000,objects=560,name=l2")


def instance(spec: str, size: str = "10%") -> Instance:
    settings = complete_settings(TASK, {"trace": [spec], "cache_size": [size]})
    return CacheSimulator().instances(settings, Split(by="none"))[0]


def handmade(
    scores: Mapping[str, Sequence[float]],
    *,
    policies: Mapping[str, str],
    specs: Sequence[str] = (*ZIPF, *LOOPS),
    settings: Mapping[str, str] | None = None,
) -> Library:
    """Two skewed workloads and two loops, with these scores of the members."""
    own_settings = {s.name: s.default for s in TASK.settings if s.name not in ("trace",)} | {"cache_size": ["10%"]}
    return Library(
        task="cache_eviction",
        settings=own_settings,
        objectives=("object",),
        workloads=tuple(Workload(spec, None) for spec in specs),
        instances=tuple(TrainedInstance(f"{spec}@10%", spec) for spec in specs),
        members=tuple(
            LibraryMember(
                name, source, "cache_eviction", dict(settings or {}), Origin("a test", "file", workloads=tuple(specs)),
                f"policies/{name}.py",
            )
            for name, source in policies.items()
        ),
        matrix={
            "object": Matrix(
                {name: tuple(values) for name, values in scores.items()}, {"lru": (0.0,) * len(specs)}, {}, {}
            )
        },
        version="test",
    )  # fmt: skip


def usual(**more: object) -> Library:
    """`hyperbolic` for what is skewed and `mru` for loops."""
    return handmade(
        {"hyperbolic": (0.2, 0.2, -0.1, -0.1), "mru": (-0.3, -0.3, 0.4, 0.4)},
        policies={"hyperbolic": HYPERBOLIC, "mru": MRU},
        **more,  # type: ignore[arg-type]
    )


def policies_in(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((place / "policies").glob("*.py"))}
