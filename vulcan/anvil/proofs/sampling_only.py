"""A search for a counterexample of a program too large to unfold: the reference interpreter alone, on a few inputs."""

from __future__ import annotations

import numpy as np

from vulcan.anvil import ir
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.policy import Policy
from vulcan.anvil.proofs.claims import Inputs, conditions
from vulcan.anvil.proofs.search import Samples
from vulcan.anvil.proofs.terms import Graph
from vulcan.anvil.proofs.verdict import Counterexample, Judge, Point, simplest
from vulcan.task import Property

_SEED = 20_250_102
_TRIED = 300
_MAX_WORK = 60_000


def blind_search(policy: Policy, declared: Property, judge: Judge) -> Counterexample | None:
    """A counterexample that the judge confirms; None where none was found. The same on every run."""
    ranges = _ranges(policy, declared)
    tried = max(6, min(_TRIED, _MAX_WORK // max(policy.plan.operations, 1)))
    samples = Samples(np.random.default_rng(_SEED), [value for _, value in policy.program.parameters])
    columns = {name: samples.column(within, tried) for name, within in ranges.items()}
    subject = declared.subject
    larger = samples.above(columns[subject], ranges[subject]) if subject is not None else None
    for row in range(tried):
        values = {name: float(column[row]) for name, column in columns.items()}
        points = [Point(values, {})]
        if subject is not None and larger is not None:
            points.append(Point({**values, subject: float(larger[row])}, {}))
        found = judge.results(tuple(points))
        if found is not None:
            return simplest(judge, declared, tuple(points), found, ranges)
    return None


def _ranges(policy: Policy, declared: Property) -> dict[str, Interval]:
    """Everything that the policy and the conditions read, by name."""
    graph = Graph()
    function = policy.function(declared.function)
    inputs = Inputs(graph, function.signature)
    programs = [function.program, *(c.program for c in conditions(policy.task, declared) if c is not None)]
    features = {name for name, _ in function.signature.features()}
    for body in (f.body for program in programs for f in program.functions):
        for e in ir.expressions(body):
            match e:
                case ir.Read(feature) if feature in features:
                    inputs.read(feature)
                case ir.Statistic():
                    inputs.statistic(e)
                case ir.Occurrences(statistic, ir.Read(feature)):
                    inputs.occurrences(statistic, inputs.read(feature))
                case ir.Query():
                    inputs.query(e)
    if declared.subject is not None:
        inputs.read(declared.subject)
    return inputs.asked
