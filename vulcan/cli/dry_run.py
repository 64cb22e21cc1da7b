"""The dry run of a search: `vulcan search --dry-run`."""

from __future__ import annotations

from vulcan.cli.output import print_json, print_table, say
from vulcan.documents.run import DryRunDocument
from vulcan.models import Message
from vulcan.models.prices import expected_tokens, format_price
from vulcan.progress.display import Display, open_display
from vulcan.searches.config import SearchConfig
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.interactive import messages_document
from vulcan.searches.model_pool import REPLY_TOKENS, BudgetForecast, ModelForecast, forecast_limits, forecast_models
from vulcan.searches.session import ExecutionConfig, open_study
from vulcan.store import MemoryStore
from vulcan.task import Task


def show_dry_run(task: Task, config: SearchConfig, evidence: EvaluationSet, form: str, *, as_json: bool) -> None:
    """Print the instances, estimated cost and first prompt of a search, without calling a model.

    Baselines and the task's own policies are measured, as the prompt has their scores. Raises UserError.
    """
    with open_display(form) as display:
        planned, messages = _first_prompt(task, config, evidence, display)
    models = forecast_models(task, config, messages)
    limits = forecast_limits(config, planned, models)
    if as_json:
        print_json(_document(task, config, evidence, planned, messages, models, limits))
        return
    say(f"{planned} proposals by {config.strategy}, {_times(config)}up to {config.repairs} repairs each")
    _show_evidence(evidence)
    _show_models(models, planned * _runs(config))
    _show_limits(limits)
    say(f"\nThe first prompt, about {expected_tokens(messages)} tokens:\n")
    for message in messages:
        say(message.content.rstrip())


def _first_prompt(
    task: Task, config: SearchConfig, evidence: EvaluationSet, display: Display
) -> tuple[int, tuple[Message, ...]]:
    """Return the number of planned proposals, and the search's first prompt."""
    with open_study(task, config, MemoryStore(), evidence, ExecutionConfig("local", 1), display) as study:
        proposal = study.ask()
        assert proposal is not None, "a search makes at least one proposal"
        return study.total, proposal.messages


def _runs(config: SearchConfig) -> int:
    return 2 if config.control else 1


def _times(config: SearchConfig) -> str:
    return "as many again by the control, " if config.control else ""


def _show_evidence(evidence: EvaluationSet) -> None:
    rows: list[tuple[str, str]] = [(i.name, i.split) for i in evidence.instances]
    rows += [(i.name, f"rung {rung.name}, keeps {rung.keep:.0%}") for rung in evidence.rungs for i in rung.instances]
    print_table(("instance", "used for"), rows)


def _show_models(models: list[ModelForecast], proposals: int) -> None:
    print_table(
        ("model", "can be called", "tokens a candidate", "dollars a candidate", f"dollars for all {proposals}"),
        [
            (
                m.model,
                "no" if m.problem else "yes",
                str(m.tokens),
                format_price(m.dollars),
                format_price(_all(m, proposals)),
            )
            for m in models
        ],
    )
    for model in models:
        if model.problem:
            say(model.problem)
    say(
        f"Estimates: replies of {REPLY_TOKENS} tokens at most to prompts as long as the first, though later ones are "
        "longer, and no repairs" + ("; each model as if it gave all replies." if len(models) > 1 else ".")
    )


def _all(model: ModelForecast, proposals: int) -> float | None:
    return None if model.dollars is None else model.dollars * proposals


def _show_limits(limits: list[BudgetForecast]) -> None:
    say("What ends the search, the first to do so before the others:")
    for limit in limits:
        after = "cannot be told" if limit.proposals is None else f"about {limit.proposals} proposals"
        say(f"  {limit.name} {limit.limit:g}: {after}")


def _document(
    task: Task,
    config: SearchConfig,
    evidence: EvaluationSet,
    planned: int,
    messages: tuple[Message, ...],
    models: list[ModelForecast],
    limits: list[BudgetForecast],
) -> DryRunDocument:
    proposals = planned * _runs(config)
    return {
        "task": task.name,
        "proposals": planned,
        "proposals_with_control": proposals,
        "instances": [{"instance": i.name, "split": i.split} for i in evidence.instances],
        "rungs": [{"rung": r.name, "keep": r.keep, "instances": [i.name for i in r.instances]} for r in evidence.rungs],
        "prompt_tokens": expected_tokens(messages),
        "models": [
            {
                "model": m.model,
                "ready": m.problem is None,
                "problem": m.problem,
                "tokens_in": m.tokens_in,
                "tokens_out": m.tokens_out,
                "dollars_per_candidate": m.dollars,
                "dollars": _all(m, proposals),
            }
            for m in models
        ],
        "budgets": [{"name": limit.name, "limit": limit.limit, "proposals": limit.proposals} for limit in limits],
        "messages": messages_document(messages),
    }
