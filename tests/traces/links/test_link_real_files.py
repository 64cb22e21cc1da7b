"""Every link trace at hand loads, and has the rate that its name or its source says."""

from __future__ import annotations

import pytest
from real_data import real_data

from vulcan.errors import UserError
from vulcan_traces.links import load_link

FOLDERS = {
    "mahimahi": 13, "nyc-cellular": 10, "cellular-2018": 8, "sage": 37, "orca": 1, "pantheon-poisson": 3,
    "leocc-starlink": 1,
}  # fmt: skip
NO_LINKS = {"README", "README.md", "trace-info", "delay_example.txt"}
"""Descriptions, and delays over time."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_trace_of_a_folder_loads(folder):
    paths = [path for path in sorted(real_data("cc", folder).iterdir()) if path.name not in NO_LINKS]
    assert len(paths) == FOLDERS[folder]
    for path in paths:
        link = load_link(path)
        assert link.kind == "opportunities"
        assert link.name == path.name
        assert 0.5e6 < link.mean_rate < 350e6


@pytest.mark.parametrize(
    ("name", "seconds", "megabits"),
    [
        ("sage/wired12", 0.001, 12.032),
        ("sage/wired192", 0.001, 192.512),
        ("sage/wired12-2x-u", 30, 18.05),
        ("mahimahi/Verizon-LTE-short.down", 140, 5.04),
        ("mahimahi/TMobile-UMTS-driving.down", 928, 2.03),
        ("leocc-starlink/bw_example.txt", 120, 48.9),
        ("pantheon-poisson/2.64mbps-poisson.trace", 60, 2.44),
    ],
)
def test_a_trace_has_its_length_and_rate(name, seconds, megabits):
    link = load_link(real_data("cc", name))
    assert link.seconds == pytest.approx(seconds, rel=0.01)
    assert link.mean_rate / 1e6 == pytest.approx(megabits, rel=0.005)


def test_what_is_no_link_in_these_folders_is_told_so():
    for name in ("nyc-cellular/README", "cellular-2018/README.md", "leocc-starlink/delay_example.txt"):
        with pytest.raises(UserError):
            load_link(real_data("cc", name))
