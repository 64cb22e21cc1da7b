"""Miss ratios of the policies of `cache_eviction` that learn, of baselines of their names, and of LRU and GDSF.

`python -m benchmarks.cache_learning` prints the table of the task's own page. Each policy runs with `sample` and 16
draws; of long traces, the first two million requests are taken.
"""

from __future__ import annotations

from benchmarks.instance_traces import SOURCES
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_cache.baselines import BASELINES

TRACES = (
    "cp_sample",
    "arc_OLTP",
    "arc_P3",
    "tcbs_1326",
    "tcbs_3300",
    "tcbs_3906",
    "scarab_recs",
    "mooncake_conv",
    "c2k_web07",
    "adaptsize",
    "lirs_2_pools",
    "lirs_multi3",
    "lirs_ps",
    "lirs_sprite",
    "lirs_zigzag",
    "syn_kvcache",
)
SHARES = (0.01, 0.1)
MAX_REQUESTS = 2_000_000
ADAPTIVE = ("lecar", "lhd", "cacheus_simplified", "lrb_like")
COMPARED = ("lru", "gdsf")


def main() -> None:
    task = find_task("cache_eviction")
    sources = task.seed_policies(state=True)
    policies = {name: check(sources[name], task) for name in ADAPTIVE}
    baselines = {name: BASELINES[name].kernel() for name in (*(set(ADAPTIVE) & set(BASELINES)), *COMPARED)}
    columns = [c for name in ADAPTIVE for c in ((name, f"baseline {name}") if name in baselines else (name,))]
    columns += [f"baseline {name}" for name in COMPARED]
    print(f"| trace | size | {' | '.join(columns)} |")
    print("|---|" + "--:|" * (1 + len(columns)))
    for source in SOURCES:
        if source.name not in TRACES:
            continue
        trace = source.load()
        objects, sizes, following = (c[:MAX_REQUESTS] for c in (trace.objects, trace.sizes, trace.next_access))
        for share in SHARES:
            capacity = int(trace.footprint * share)
            ratios = {
                name: simulate(policy, objects, sizes, capacity, object_count=trace.object_count).miss_ratio
                for name, policy in policies.items()
            }
            for name, kernel in baselines.items():
                misses, *_ = kernel(objects, sizes, following, trace.object_count, capacity, 0)
                ratios[f"baseline {name}"] = misses / objects.size
            print(f"| {source.name} | {share:.0%} | {' | '.join(f'{ratios[c]:.4f}' for c in columns)} |", flush=True)


if __name__ == "__main__":
    main()
