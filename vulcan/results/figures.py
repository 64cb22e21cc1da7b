"""The figures of a run, for its report, its page and `Run.plot`: each is drawn from the record of the search."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os.path import commonprefix
from statistics import quantiles, variance
from typing import TypeVar

from vulcan.results.candidate import lineage
from vulcan.results.run import metrics_of, scorer_of
from vulcan.searches.evidence import SPLITS
from vulcan.store import RunRecord
from vulcan.svg import BASE, BEST, COLOURS, DASHES, GOOD, PLAIN, Axis, Chart, Figure, around, number, text

T = TypeVar("T")

MAX_DOTS = 500
"""Maximum number of candidates drawn in a figure; of more, as many are taken evenly."""

Link = Callable[[int], str]
"""The address of a candidate, for a figure in a page; empty for none."""


def no_link(candidate: int) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Curve:
    """The best score so far of a run: points where it rises, and where the run ends.

    Runs of one `configuration` differ in their seed alone, and share a colour.
    """

    name: str
    configuration: str
    points: tuple[tuple[float, float], ...]
    end: float


def best_score(record: RunRecord, candidate: int | None = None, link: Link = no_link) -> Figure | None:
    """Draw scores on train and the best so far, with the line of descent of a candidate, by default the best."""
    scored = {c.candidate: c.score for c in record.candidates.values() if c.verdict == "scored" and c.score is not None}
    best = record.best()
    if not scored or best is None:
        return None
    run = Curve("best so far", "", tuple(_improvements(record)), float(max(record.candidates)))
    line = [n for n in _first_line(record, candidate or best.candidate) if n in scored]
    baseline = record.named_baseline("train")
    marked = [scored[n] for n in line] + ([] if baseline is None else [baseline.score])
    marked += [score for _, score in run.points[-1:]]
    y = Axis("score on train", *score_range(list(scored.values()), marked))
    chart = Chart("The best score so far", Axis("candidate", 0.0, run.end or 1.0), y)

    def dots(candidates: Sequence[int]) -> list[tuple[float, float, str, str]]:
        return [(n, scored[n], f"candidate {n}: {scored[n]:.4f}", link(n)) for n in candidates]

    chart.dots("a candidate", dots(sampled([n for n in scored if n not in line])), PLAIN, 2.5)
    _add_curves(chart, [run], [BEST])
    if baseline is not None:
        chart.level(f"baseline {baseline.policy}", baseline.score)
    chart.line("", [(n, scored[n]) for n in line], GOOD, thin=True)
    chart.dots("its line of descent" if candidate is None else "line of descent", dots(line), GOOD, 5, ring=True)
    return chart.figure()


def curves(title: str, runs: Sequence[Curve], levels: Mapping[str, float]) -> Figure | None:
    """Draw the best scores of several runs over candidates, with levels such as the best baseline."""
    drawn = [run for run in runs if run.points]
    if not drawn:
        return None
    ends = [score for run in drawn for _, score in run.points]
    y = Axis("best score on train", *score_range(ends, [*levels.values(), *(run.points[-1][1] for run in drawn)]))
    chart = Chart(title, Axis("candidate", 0.0, max(run.end for run in drawn) or 1.0), y)
    colours: dict[str, str] = {}
    for run in drawn:
        colours.setdefault(run.configuration, COLOURS[len(colours) % len(COLOURS)])
    _add_curves(chart, drawn, [colours[run.configuration] for run in drawn])
    for name, score in levels.items():
        chart.level(name, score, PLAIN)
    return chart.figure()


def _add_curves(chart: Chart, runs: Sequence[Curve], kinds: Sequence[str]) -> None:
    """Add a step line for each run, of another stroke where a colour repeats."""
    for n, (run, kind) in enumerate(zip(runs, kinds, strict=False)):
        if run.points:
            points = [*run.points, (run.end, run.points[-1][1])]
            chart.line(run.name, points, kind, DASHES[list(kinds[:n]).count(kind) % len(DASHES)], step=True)


def score_range(scores: Sequence[float], marked: Sequence[float] = ()) -> tuple[float, float]:
    """Return limits of an axis that show the upper three quarters of the scores, and all that is marked."""
    usual = quantiles(scores, n=4)[0] if len(scores) > 10 else min(scores)
    return around([usual, *marked, *([max(scores)] if scores else [])], 0.06)


def sampled(points: Sequence[T]) -> list[T]:
    """Return as many of the points as are drawn, evenly."""
    return list(points[:: max(1, -(-len(points) // MAX_DOTS))])


def _improvements(record: RunRecord) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for judged in record.candidates.values():
        if judged.verdict == "scored" and judged.score is not None and (not found or judged.score > found[-1][1]):
            found.append((judged.candidate, judged.score))
    return found


def _first_line(record: RunRecord, candidate: int) -> list[int]:
    """Return a candidate with its first parents, oldest first: the programs that were changed to it."""
    line = [candidate]
    while parents := record.parents_of(line[-1]):
        line.append(parents[0])
    return line[::-1]


def by_instance(record: RunRecord, candidate: int | None = None) -> Figure | None:
    """Draw the scores of a candidate, by default the best, and of the known policies on each instance, in parallel.

    Each is what it scores above the best baseline of that instance.
    """
    best, scorer = record.candidates[candidate] if candidate else record.best(), scorer_of(record)
    if best is None or scorer is None:
        return None
    policies: dict[str, tuple[str, dict[tuple[str, str], float]]] = {}
    for split in SPLITS:
        measured = [(f"candidate {best.candidate}", "best", metrics_of(record, best.candidate, split))]
        measured += [(policy, b.kind, b.metrics) for (policy, where), b in record.baselines.items() if where == split]
        for policy, kind, metrics in measured:
            scores = policies.setdefault(policy, (kind, {}))[1]
            scores |= {(split, name): scorer.on_instance(split, name, values) for name, values in metrics}
    own = policies[f"candidate {best.candidate}"][1]
    rivals = {
        place: max(known)
        for place in own
        if (known := [scores[place] for kind, scores in policies.values() if kind == "baseline" and place in scores])
    }
    if not rivals:
        return None
    places = list(rivals)
    gains = [own[place] - rivals[place] for place in places]
    others = [
        scores[p] - rivals[p] for kind, scores in policies.values() if kind != "best" for p in places if p in scores
    ]
    low, high = around([*gains, 0.0, *(quantiles(others, n=4) if len(others) > 3 else others)], 0.15)
    common = re.sub(r"\w*$", "", commonprefix([name for _, name in places]))  # noqa: RUF071 - of characters
    steps = tuple(_short(f"{split} {name.removeprefix(common).strip(', ')}".strip()) for split, name in places)
    named = steps if len(steps) <= 40 else ()
    x = Axis("" if named else "instances", -0.3, len(steps) - 0.7, steps=named)
    chart = Chart("Instance by instance", x, Axis("score above the best baseline of the instance", low, high))
    chart.line("best baseline of each", [(-0.3, 0.0), (len(steps) - 0.7, 0.0)], BASE, "6 4")
    for kind, named_as, look, dash in (("baseline", "a baseline", PLAIN, "none"), ("oracle", "an oracle", "s3", "7 4")):
        name = named_as
        for policy, (of, scores) in policies.items():
            points = [(n, scores[p] - rivals[p]) for n, p in enumerate(places) if p in scores]
            if of != kind or not points:
                continue
            chart.line("", [(n, value) for n, value in points], look, dash, thin=True)
            said = [(n, v, f"{policy} on {places[int(n)][1]}: {scores[places[int(n)]]:.4f}", "") for n, v in points]
            chart.dots(name, said, look, 2.5)
            name = ""
    chart.line("", list(enumerate(gains)), BEST)
    said = [
        (n, v, f"candidate {best.candidate} on {p[1]}: {own[p]:.4f}", "")
        for n, (p, v) in enumerate(zip(places, gains, strict=True))
    ]
    chart.dots(f"candidate {best.candidate}", said, BEST, 5)
    return chart.figure()


_MAX_LABEL = 22


def _short(name: str) -> str:
    """Shorten a name in its middle, for a label."""
    return name if len(name) <= _MAX_LABEL else f"{name[: _MAX_LABEL // 2]}...{name[-_MAX_LABEL // 2 + 3 :]}"


COSTS = {"size": "nodes of the program", "operations": "operations per call, at most"}


def tradeoff(record: RunRecord, cost: str = "size", link: Link = no_link) -> Figure | None:
    """Draw scores on train against the `size` or the `operations` of programs, with the Pareto front."""
    costs: dict[int, int] = {
        c.candidate: value for c in record.ranked() if (value := c.size if cost == "size" else c.operations) is not None
    }
    if not costs:
        return None
    scores = {number: record.candidates[number].score or 0.0 for number in costs}
    front: list[int] = []
    for candidate in sorted(costs, key=lambda n: (costs[n], -scores[n], n)):
        if not front or scores[candidate] > scores[front[-1]]:
            front.append(candidate)

    def dots(candidates: Sequence[int]) -> list[tuple[float, float, str, str]]:
        return [(costs[n], scores[n], f"candidate {n}: {scores[n]:.4f}, {costs[n]:,}", link(n)) for n in candidates]

    x = Axis(COSTS[cost], 0.0, 1.05 * max(costs.values()) or 1.0)
    y = Axis("score on train", *score_range(list(scores.values()), [scores[front[-1]]]))
    chart = Chart(f"Score against {COSTS[cost]}", x, y)
    chart.dots("a candidate", dots(sampled(sorted(costs))), PLAIN, 3)
    shown = [n for n in front if y.has(scores[n])]
    chart.line("", [(costs[n], scores[n]) for n in shown], BEST, step=True)
    chart.dots("no other is both smaller and better", dots(shown), BEST, 4.5)
    return chart.figure()


_GROUPS = 5
_ROW, _MAX_ROWS = 58, 10


def importance(samples: Sequence[Sequence[float]]) -> list[float]:
    """Return how much of the variance in the ranks of the scores each constant of a tuning explains alone, 0 to 1.

    That is epsilon squared, for groups of samples in which its values are alike: what chance explains is taken off.
    Empty for too few samples.
    """
    many, groups = len(samples), min(_GROUPS, len(samples) // 3)
    if groups < 2:
        return []
    scores = sorted(sample[-1] for sample in samples)
    ranks = [(bisect_left(scores, sample[-1]) + bisect_right(scores, sample[-1])) / 2 for sample in samples]
    total = variance(ranks) or 1.0
    shares = []
    for column in range(len(samples[0]) - 1):
        order = sorted(range(many), key=lambda n: samples[n][column])
        parts = [[ranks[n] for n in order[many * g // groups : many * (g + 1) // groups]] for g in range(groups)]
        within = sum(variance(part) * (len(part) - 1) for part in parts) / (many - groups)
        shares.append(max(0.0, 1.0 - within / total) if scores[0] < scores[-1] else 0.0)
    return shares


def constants(record: RunRecord, candidate: int | None = None) -> Figure | None:
    """Draw how much each constant of a candidate, by default the best, matters: by its tuning, or its ancestor's."""
    best = record.best()
    line = [] if best is None else _first_line(record, candidate or best.candidate)
    tunings = [t for n in reversed(line) for t in record.refined if t.by == "tuned" and n in (t.candidate, t.result)]
    tuning = next((t for t in tunings if importance(t.samples)), None)
    if tuning is None:
        return None
    top = max(tuning.samples, key=lambda sample: sample[-1])
    source = record.candidates[line[-1]].source
    rows = sorted(
        (_is_in(name, source), share, name, [sample[n] for sample in tuning.samples], top[n])
        for n, (share, name) in enumerate(zip(importance(tuning.samples), tuning.constants, strict=True))
    )[::-1]
    marks = [text(_MARGIN, 20, f"{len(tuning.samples)} settings of candidate {tuning.candidate}", "faint")]
    for n, (is_kept, share, name, values, best_value) in enumerate(rows[:_MAX_ROWS]):
        y = 40 + _ROW * n
        tried = f"best {number(best_value)}, tried {number(min(values))} to {number(max(values))}"
        marks += [
            text(_MARGIN, y + 12, name if is_kept else f"{name}, no longer in the program", "bold" if is_kept else ""),
            f'<rect class="dot {BEST}" x="{_MARGIN}" y="{y + 25}" height="10" width="{170 * share + 2:.1f}"/>',
            text(_MARGIN + 170 * share + 10, y + 36, f"{share:.0%}"),
            text(_WIDE - _MARGIN, y + 36, tried, "faint", "end"),
        ]
    return Figure("Importance of the constants", "".join(marks), _WIDE, 40 + _ROW * min(len(rows), _MAX_ROWS))


def _is_in(constant: str, source: str) -> bool:
    """Check whether a program has a constant, or for one of a statistic a statistic of that kind."""
    statistic = re.search(r"\.\w+\(", constant)
    return statistic[0] in source if statistic else re.search(rf"\b{re.escape(constant)}\b", source) is not None


# The tree of descent, generations from left to right

_MAX_NODES = 150
_COLUMN, _LINE, _MARGIN, _WIDE = 140, 32, 24, 720.0


def descent(record: RunRecord, best: int = 1, link: Link = no_link) -> Figure | None:
    """Draw the `best` highest-scored candidates with all their ancestors, each with what it gained over its parents."""
    winner = record.best()
    if winner is None:
        return None
    chosen: set[int] = set()
    for candidate in [winner.candidate, *(c.candidate for c in record.ranked()[:best])]:
        line = {candidate, *(n for generation in lineage(record, candidate) for n in generation)}
        if chosen and len(chosen | line) > _MAX_NODES:
            break
        chosen |= line
    green = {winner.candidate, *(n for generation in lineage(record, winner.candidate) for n in generation)}
    parents = {n: [p for p in record.parents_of(n) if p in chosen] for n in sorted(chosen)}
    places = {n: (_MARGIN + _COLUMN * x, _MARGIN + _LINE * y) for n, (x, y) in _tree(parents).items()}
    edges, nodes = [], []
    for n, (x, y) in places.items():
        for order, parent in enumerate(parents[n]):
            a, b = places[parent]
            bend, kind = x - 0.45 * _COLUMN, GOOD if n in green and parent in green else PLAIN
            dashed = ' stroke-dasharray="4 3"' if order else ""
            thin = "" if kind == GOOD else " thin"
            edges.append(
                f'<path class="curve {kind}{thin}"{dashed} '
                f'd="M{a} {b:.0f}C{bend:.0f} {b:.0f} {bend:.0f} {y:.0f} {x} {y:.0f}"/>'
            )
        nodes.append(_node(record, n, x, y, winner.candidate, n in green, link(n)))
    width = max(x for x, _ in places.values()) + _COLUMN
    height = max(y for _, y in places.values()) + _MARGIN
    return Figure("The tree of descent", "".join([*edges, *nodes]), width, height, natural=True)


def _node(record: RunRecord, n: int, x: float, y: float, best: int, in_line: bool, address: str) -> str:
    judged, proposal = record.candidates[n], record.proposals[record.candidates[n].proposal]
    parent = record.best_parent_of(n)
    gain = None if judged.score is None or parent is None or parent.score is None else judged.score - parent.score
    kind = PLAIN if gain is not None and gain <= 0 else GOOD if gain is not None else "s7"
    score = "-" if judged.score is None else f"{judged.score:.4f}"
    by = proposal.operator if judged.origin == "model" else judged.origin
    over = "" if gain is None else f", {gain:+.4f} over the better parent"
    said = text(x + 8, y - 7, f"{n} {by if gain is None else f'{gain:+.4f}'}", "halo bold" if in_line else "halo")
    mark = (
        f'<circle class="dot {kind}" cx="{x}" cy="{y:.1f}" r="{7 if n == best else 5}">'
        f"<title>{escape(f'candidate {n}: {by}; score {score}{over}')}</title></circle>{said}"
    )
    return f'<a href="{escape(address)}">{mark}</a>' if address else mark


def _tree(parents: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, float]]:
    """Place each behind the latest of its parents, beside the other children of its first parent."""
    steps: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for n, own in parents.items():
        steps[n] = 1 + max((steps[p] for p in own), default=-1)
        if own:
            children.setdefault(own[0], []).append(n)
    rows: dict[int, float] = {}
    free = iter(range(len(parents)))

    def place(n: int) -> float:
        below = [place(child) for child in children.get(n, ())]
        rows[n] = (below[0] + below[-1]) / 2 if below else float(next(free))
        return rows[n]

    for n, own in parents.items():
        if not own:
            place(n)
    return {n: (steps[n], rows[n]) for n in parents}
