"""Both ways to a model of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from vulcan.models.budget import Budget
from vulcan.models.call_settings import CallSettings
from vulcan.models.providers import EndpointModel, LitellmModel, RemoteModel
from vulcan.models.retry import RetryPolicy

Open = Callable[..., RemoteModel]


@pytest.fixture
def key() -> str:
    """The key of the server."""
    return "sk-very-secret-0123456789"


@pytest.fixture(params=["endpoint", "litellm"])
def open_model(
    request: pytest.FixtureRequest, key: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., RemoteModel]]:
    """Opens a model of the server; the wait before another attempt, a budget and settings can be chosen."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    opened: list[RemoteModel] = []

    def open_(
        url: str,
        wait: Callable[[float], bool] = lambda seconds: False,
        budget: Budget | None = None,
        **settings: object,
    ) -> RemoteModel:
        chosen = CallSettings(**{"timeout": 10.0, "retry": RetryPolicy(attempts=3), **settings})  # type: ignore[arg-type]
        if request.param == "endpoint":
            opened.append(EndpointModel("toy", url, chosen, wait, budget))
        else:
            monkeypatch.setenv("OPENAI_API_BASE", url)
            opened.append(LitellmModel("openai/toy", chosen, wait, budget))
        return opened[-1]

    yield open_
    for model in opened:
        model.close()
