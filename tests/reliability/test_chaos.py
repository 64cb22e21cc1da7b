"""A few random faults over a recorded search; `make chaos` has two hundred."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos import Chaos

FAULTS = 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7])
def test_a_search_under_random_faults_comes_to_the_same_end(tmp_path: Path, seed: int) -> None:
    report = Chaos(tmp_path, seed, share_on_ray=0.0).go(FAULTS, print)
    assert report.wrong == []
    assert report.faults.total() == FAULTS
