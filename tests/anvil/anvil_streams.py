"""Policies that ask many statistics at once, and oracles that share no code with Anvil."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from anvil_toy import HEAD

SHARES = (0.0, 0.07, 0.5, 0.9, 1.0)
ALPHAS = (0.001, 0.3, 0.999)


def asking(questions: Sequence[str]) -> str:
    """A program whose answer to the i-th question is given where `now` is i."""
    lines = [f"    if now == {i}:\n        return {question}" for i, question in enumerate(questions)]
    return HEAD + "\n".join(lines) + "\n    return 0\n"


def questions(owner: str, windows: Sequence[int], wanted: Sequence[str]) -> list[str]:
    """Every statistic of a stream (`item.whole`), over these windows; `wanted` are values that are looked for."""
    asked = [f"{owner}.{kind}()" for kind in ("latest", "avg", "min", "max")]
    asked += [f"{owner}.ewma({alpha})" for alpha in ALPHAS]
    for n in windows:
        asked += [f"{owner}.recent({n})", f"{owner}.window_avg({n})"]
        asked += [f"{owner}.window_percentile({share}, {n})" for share in SHARES]
        asked += [f"{owner}.{kind}({value}, {n})" for kind in ("count", "contains") for value in wanted]
    return asked


def answers(observed: Sequence[float], windows: Sequence[int], wanted: Sequence[float]) -> list[float]:
    """What pandas and numpy say of the same questions, in the same order, of at least one observation."""
    series = pd.Series(observed, dtype=float)
    made = [series.iloc[-1], series.expanding().mean().iloc[-1], series.min(), series.max()]
    made += [series.ewm(alpha=alpha, adjust=False).mean().iloc[-1] for alpha in ALPHAS]
    for n in windows:
        window = series.iloc[-n:].to_numpy()
        made += [series.iloc[-n] if len(series) >= n else math.nan, series.rolling(n, min_periods=1).mean().iloc[-1]]
        made += [float(np.quantile(window, share, method="inverted_cdf")) for share in SHARES]
        made += [float((window == value).sum()) for value in wanted]
        made += [float((window == value).any()) for value in wanted]
    return [float(value) for value in made]
