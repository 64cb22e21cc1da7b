"""Whether this host can run congestion control in its kernel, and is quiet enough for its figures to be the link's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from vulcan_link.kernel.host import missing_for_namespaces, missing_for_policies

in_namespaces = pytest.mark.skipif(
    bool(missing_for_namespaces()), reason=f"this host lacks {', '.join(missing_for_namespaces())}"
)
_MISSING = missing_for_namespaces() + missing_for_policies()
with_policies = pytest.mark.skipif(bool(_MISSING), reason=f"this host lacks {', '.join(_MISSING)}")

MAX_LATE_MS = 60  # TCP times out after 200 ms: where the link stands still for long, this host is measured
ATTEMPTS = 4
Run = TypeVar("Run")


def punctual(run: Callable[[], Run], worst_ms: Callable[[Run], float]) -> Run:
    """Repeat a run until its link was punctual; `worst_ms` reads from it how late the link was. Skips where none is."""
    late = []
    for _ in range(ATTEMPTS):
        result = run()
        late.append(worst_ms(result))
        if late[-1] <= MAX_LATE_MS:
            return result
    pytest.skip(f"this host is too busy: the link was up to {min(late):.0f} ms late in each of {ATTEMPTS} runs")
