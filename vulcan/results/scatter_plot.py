"""Scatter plots of two metrics of every policy, as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import fmean

from vulcan import svg
from vulcan.errors import UserError
from vulcan.files import write_output
from vulcan.svg import BASE, BEST, Axis, Chart, Figure, number
from vulcan.task import Metrics, Picture

_MEAN = "mean of all instances"


@dataclass(frozen=True, slots=True)
class PolicyMetrics:
    """A policy's metrics in the order of the instances; `kind` is candidate, baseline or oracle."""

    policy: str
    kind: str
    metrics: Sequence[Metrics]


def write_pictures(
    path: Path, pictures: Sequence[Picture], instances: Sequence[str], measured: Sequence[PolicyMetrics], title: str
) -> None:
    """Write a page with each picture: a point per policy, for the mean over instances and for each of them.

    Means are of the metric itself, not of a score. Raises UserError where there is no picture, the file cannot be
    written, or a metric of a picture was not measured.
    """
    if not pictures:
        raise UserError("the task declares no picture to plot; give it pictures=(Picture(...),) in its task.py")
    parts = []
    for picture in pictures:
        first, *others = figures_of(picture, instances, measured)
        parts.append(f"<h2>{escape(first.title)}</h2><figure>{first.svg()}</figure>")
        parts += [
            f"<details><summary>{escape(one.title)}</summary><figure>{one.svg()}</figure></details>" for one in others
        ]
    write_output(path, svg.page(title, "\n".join(parts)))


def figures_of(picture: Picture, instances: Sequence[str], measured: Sequence[PolicyMetrics]) -> list[Figure]:
    """Return the figures of one picture: the mean (if there are several instances), then each instance."""
    for policy in measured:
        for name in (picture.x, picture.y):
            if any(name not in metrics for metrics in policy.metrics):
                raise UserError(f"picture {picture.name!r}: {policy.policy} has no metric {name!r}")
    views = {
        instance: [(p.metrics[n][picture.x], p.metrics[n][picture.y]) for p in measured]
        for n, instance in enumerate(instances)
    }
    if len(instances) > 1:
        mean = [(fmean(m[picture.x] for m in p.metrics), fmean(m[picture.y] for m in p.metrics)) for p in measured]
        views = {f"{_MEAN} ({len(instances)})": mean, **views}
    return [_figure(f"{picture.name}: {view}", picture, measured, points) for view, points in views.items()]


def _figure(
    title: str, picture: Picture, measured: Sequence[PolicyMetrics], points: Sequence[tuple[float, float]]
) -> Figure:
    least = min((x for x, _ in points if x > 0), default=1.0) / 2  # where 0 is drawn on a logarithmic axis
    places = [max(x, least) if picture.x_log else x for x, _ in points]
    low, high = (min(places) / 1.3, max(places) * 1.3) if picture.x_log else svg.around(places)
    x = Axis(picture.x_label, low, high, log=picture.x_log, reverse=picture.x_reversed)
    chart = Chart(title, x, Axis(picture.y_label, 0.0, 1.05 * max(y for _, y in points) or 1.0), 340.0)
    for kind, look, ring in (("oracle", "s3", True), ("baseline", BASE, False), ("candidate", BEST, False)):
        dots = [
            (place, y, f"{p.policy} ({p.kind}): {picture.x_label} {number(x)}, {picture.y_label} {number(y)}", "")
            for p, place, (x, y) in zip(measured, places, points, strict=True)
            if p.kind == kind
        ]
        if dots:
            chart.dots(kind, dots, look, 6 if kind == "candidate" else 5, ring)
    named = sorted(zip(measured, places, points, strict=True), key=lambda one: one[0].kind != "candidate")
    for policy, place, (_, y) in named:
        chart.label(place, y, _label(policy, measured))
    return chart.figure()


def _label(policy: PolicyMetrics, measured: Sequence[PolicyMetrics]) -> str:
    """Return the policy's name, with its kind if another one has the same name."""
    alone = sum(other.policy == policy.policy for other in measured) == 1
    return policy.policy if alone else f"{policy.policy} ({policy.kind})"
