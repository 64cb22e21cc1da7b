"""Whether this host can run congestion control in its kernel."""

from __future__ import annotations

import pytest

from vulcan_link.kernel.host import missing_for_namespaces, missing_for_policies

in_namespaces = pytest.mark.skipif(
    bool(missing_for_namespaces()), reason=f"this host lacks {', '.join(missing_for_namespaces())}"
)
_MISSING = missing_for_namespaces() + missing_for_policies()
with_policies = pytest.mark.skipif(bool(_MISSING), reason=f"this host lacks {', '.join(_MISSING)}")
