"""What tests of several evaluators share."""

from __future__ import annotations

from typing import Any

import pytest

from vulcan.evaluator import load_evaluator


@pytest.fixture
def evaluator(request: pytest.FixtureRequest) -> Any:
    """That of the module's task."""
    return load_evaluator(request.module.TASK)
