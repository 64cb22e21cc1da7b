"""How much do searches differ that differ in nothing but their seed?

    python compare_seeds.py [SEEDS] [CANDIDATES]

A search is a random process: whoever compares two settings on one seed each compares two seeds as well.
"""

from __future__ import annotations

import sys

import pandas as pd

import vulcan

TRACE = "zipf:requests=20000,objects=3000,alpha=0.9,seed=3"


def searched(seed: int, candidates: int) -> dict[str, object]:
    """One search, and what its winner is worth on evidence that it never saw."""
    run = vulcan.search(
        "cache_eviction", trace=TRACE, seed=seed, budget_candidates=candidates, executor="local", progress="none",
        tune=0, simplify=0,
    )  # fmt: skip
    held_out = run.instances.query("split == 'test'")
    return {
        "seed": seed,
        "winner": run.best.number,
        "train": run.best.scores["train"],
        "test": run.best.scores["test"],
        "above the best baseline": held_out["gap"].mean(),
    }


def main(seeds: int = 3, candidates: int = 40) -> None:
    """Print a row a seed, and how far they lie apart."""
    table = pd.DataFrame([searched(seed, candidates) for seed in range(1, seeds + 1)]).set_index("seed")
    print(table.round(4).to_string())
    print(f"\nfrom seed to seed the test score differs by {table['test'].max() - table['test'].min():.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
