"""What the tasks `request_scheduling` and `request_routing` have in common: features of requests, goals, settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from vulcan.task import MAX_EXACT_INTEGER, Feature, Metrics, Objective, Scalar, Setting, log_reduction

MAX_SECONDS = 1e9
MAX_TOKENS = float(2**40)
MAX_REQUESTS = float(2**40)
MAX_PRIORITY = 1e9
RESOLUTION = 12

NOW = Scalar(Feature("now", "float", "s", 0.0, MAX_SECONDS, "the time since the first request", resolution=RESOLUTION))

REQUEST_FEATURES = (
    Feature("prompt", "int", "tokens", 1.0, MAX_TOKENS, "tokens of its prompt"),
    Feature(
        "predicted", "int", "tokens", 0.0, MAX_TOKENS,
        "tokens that its whole output is predicted to have; 0 where `lengths` is unknown",
    ),
    Feature(
        "priority", "int", "priority", -MAX_PRIORITY, MAX_PRIORITY,
        "the priority that its sender gave it, higher being more urgent; 0 where requests have none",
    ),
    Feature(
        "kind", "int", "kind", 0.0, 1000.0, "its kind: a number without order, 0 where none is recorded",
    ),
    Feature("session", "int", "identity", 0.0, MAX_EXACT_INTEGER, "the number of its session, 0 for none"),
    Feature("turn", "int", "turns", 1.0, MAX_REQUESTS, "its turn of the conversation, from 1"),
    Feature("ttft_goal", "float", "s", 0.0, MAX_SECONDS, "its objective for the time to the first token"),
    Feature("tpot_goal", "float", "s", 0.0, MAX_SECONDS, "its objective for the mean time of each further token"),
)  # fmt: skip
"""What is known of a request when it arrives."""


def _in_time(metric: str, name: str, what: str, label: str, reference: str) -> Objective:
    def score(metrics: Metrics, references: Mapping[str, Metrics]) -> float:
        return references[reference][metric] - metrics[metric]

    return Objective(
        name=name,
        metric=metric,
        meaning=f"{what}, less that with {reference}: from -1 to 1",
        score=score,
        references=(reference,),
        label=label,
        form=".1%",
        usual=(reference,),
        lowest=-1.0,
        highest=1.0,
        beside=("ttft_s", "longest_wait_s"),
    )


def objectives(reference: str) -> tuple[Objective, ...]:
    """Return the objectives, whose scores are relative to that baseline."""
    less = partial(log_reduction, reference=reference, usual=(reference,), beside=("missed", "longest_wait_s"))
    return (
        less("ttft_s", "ttft", "the mean time to the first token", "s to the first token"),
        less("p99_ttft_s", "tail", "the 99th percentile of the time to the first token",
              "s to the first token at the 99th percentile"),
        less("tpot_ms", "pace", "the mean time of a further token", "ms a token"),
        less("p99_tpot_ms", "pace_tail", "the 99th percentile of a request's mean time of a further token",
              "ms a token at the 99th percentile"),
        less("latency_s", "latency", "the mean time to the last token", "s to the last token"),
        _in_time("missed", "goodput", "the share of requests, by weight, that meet both of their objectives",
                 "of the requests miss an objective", reference),
        _in_time("worst_missed", "fair", "the share of requests that meet both of their objectives, of the kind that "
                 "has the least", "of the requests of the worst kind miss an objective", reference),
    )  # fmt: skip


TRACE = Setting(
    "trace", "text", "a log of prompts, or a generated one such as chat:requests=6000,seed=1; default: generated ones",
    repeatable=True,
)  # fmt: skip
READING = (
    Setting("trace_format", "text", "the format of the logs; default: detected"),
    Setting(
        "block_tokens", "int",
        "tokens of a block; default: 16 for token ids, else that of the format, or what lengths agree with",
    ),
)  # fmt: skip
"""How the logs are read."""


def settings(replicas: int, *others: Setting) -> tuple[Setting, ...]:
    """Return the settings: those of a task that has so many replicas by default, with some of its own."""
    return (
        TRACE,
        Setting(
            "load", "float", "arrivals are spread so that this share of what the servers can do is asked of them; 0: "
            "as recorded", [0.9], repeatable=True,
        ),
        Setting(
            "server", "text", "model and hardware, or a file of `vulcan traces fit-server`: 70b-8xa100, 70b-8xh100, "
            "8b-h100", "70b-8xa100",
        ),
        Setting("memory", "text", "tokens of a replica's KV cache (500k, 1.2M); default: the server's"),
        Setting("replicas", "int", "replicas of the server", replicas),
        Setting("budget", "int", "tokens of a step at most (max_num_batched_tokens)", 2048),
        Setting("max_running", "int", "requests that run at a time at most (max_num_seqs)", 256),
        Setting(
            "prefill", "text", "whether a prompt may be computed in several steps", "chunked",
            choices=("chunked", "whole"),
        ),
        Setting(
            "lengths", "text", "what is known of an output's length", "predicted",
            choices=("predicted", "known", "unknown"),
        ),
        Setting("prediction_error", "float", "standard deviation of the logarithm of predicted over true length", 0.5),
        Setting(
            "goal", "text", "objectives as kind:ttft=2,tpot=0.1,weight=1, in seconds; the kind `all` is of those "
            "without one of their own; default: all:ttft=10,tpot=0.1, and others of generated kinds",
            repeatable=True,
        ),
        *others,
        *READING,
        Setting("workload_seed", "int", "seed of all that is drawn", 1),
    )  # fmt: skip


BOUNDED = "a score stays within +-1e300, where it would be clamped and {} look alike"
