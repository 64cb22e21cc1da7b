"""Results of baselines on disk: the least cost of an instance takes seconds to find."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from vulcan.paths import cache_directory
from vulcan.task import Json, Metrics

log = logging.getLogger(__name__)

_VERSION = 1
"""To be raised when a baseline, the rules or the metrics change."""


def place_of(identity: Sequence[Json]) -> Path:
    """Where the result of that identity is kept."""
    text = json.dumps(["spot", _VERSION, *identity])
    return cache_directory("baselines") / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def read_kept(place: Path) -> Metrics | None:
    """None where nothing is kept, or what is kept is damaged."""
    try:
        return cast(dict[str, float], json.loads(place.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s cannot be used and is computed again: %s", place, error)
        return None


def keep(place: Path, metrics: Metrics) -> None:
    """Written whole or not at all: several processes may compute the same result."""
    unfinished = place.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(metrics))
    unfinished.replace(place)
