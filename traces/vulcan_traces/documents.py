"""Models of the JSON documents that `vulcan traces` prints."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict


class StatisticDocument(TypedDict):
    """A statistic of a trace."""

    value: Annotated[Any, "a number; an object for a distribution; `null`: not defined"]
    unit: Annotated[str, "unit of measurement"]
    meaning: Annotated[str, "what it is"]


class FingerprintDocument(TypedDict):
    """The statistics of a trace."""

    statistics: Annotated[dict[str, StatisticDocument], "each statistic by its name"]
    quantiles: Annotated[list[float], "the shares whose quantiles a distribution has"]


class StatsDocument(FingerprintDocument):
    """Output of `vulcan traces stats`."""

    trace: Annotated[str, "the trace's name"]
    digest: Annotated[str, "identifies its content"]
    notes: Annotated[list[str], "what its reader left out or changed, with counts"]


class RequestRow(TypedDict):
    """A request of a trace."""

    request: Annotated[int, "its index, from 0"]
    time: Annotated[float, "its time in seconds"]
    id: Annotated[int, "the object's key in the trace"]
    object: Annotated[int, "the object's number, in the order of first requests"]
    size: Annotated[int, "the object's size in bytes"]
    next_request: Annotated[int | None, "index of the next request for the object"]


class HeadDocument(TypedDict):
    """Output of `vulcan traces head`."""

    trace: Annotated[str, "the trace's name"]
    digest: Annotated[str, "identifies its content"]
    requests: Annotated[int, "requests in the trace"]
    notes: Annotated[list[str], "what its reader left out or changed, with counts"]
    head: Annotated[list[RequestRow], "the first requests"]
