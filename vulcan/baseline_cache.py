"""An on-disk cache of baseline measurements, which are deterministic and may be slow."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import cast

from vulcan.files import write_cache
from vulcan.paths import cache_directory
from vulcan.task import Json, Metrics

log = logging.getLogger(__name__)


def cached_metrics(identity: list[Json], measure: Callable[[], Metrics]) -> Metrics:
    """Return the metrics from the cache, calling `measure` once per machine to fill it.

    `identity` is all that the metrics depend on: the evaluator, the baseline with its version, and the instance. An
    unreadable entry is measured again, with a warning.
    """
    text = json.dumps(identity, sort_keys=True)
    path = cache_directory("baselines") / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
    metrics = _read(path)
    if metrics is None:
        metrics = measure()
        write_cache(path, json.dumps(dict(metrics)).encode())
    return metrics


def _read(path: Path) -> Metrics | None:
    try:
        return cast(dict[str, float], json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s cannot be used and is computed again: %s", path, error)
        return None
