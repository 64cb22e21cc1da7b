"""Code shared by `vulcan search` and `vulcan resume`: options, the search itself, results and next steps.

The dry run of a search: `vulcan search --dry-run`.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from vulcan.api.launch import RunSession, SearchRequest, Sorted
from vulcan.cli.options import task_settings
from vulcan.cli.output import print_json, print_table, say, tell
from vulcan.cli.summary import print_run
from vulcan.documents.run import BudgetEstimate, DryRunDocument, ModelEstimate
from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.models.base import Message
from vulcan.models.prices import expected_tokens, format_price
from vulcan.progress.display import check_form, open_display
from vulcan.results.recommended import how_to_take
from vulcan.results.run import run_verdict
from vulcan.searches.config import SearchConfig
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.interactive import messages_document
from vulcan.searches.model_pool import REPLY_TOKENS, forecast_limits, forecast_models
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS
from vulcan.searches.session import ExecutionConfig, open_study
from vulcan.store import MemoryStore
from vulcan.store.runs import find_run, is_begun
from vulcan.task import Task
from vulcan.terminal_text import count


def progress_form(progress: str | None, *, quiet: bool, as_json: bool) -> str:
    """Return the form of progress; default: none with --quiet or --json, else auto. Raises UserError."""
    if progress is None:
        return "none" if quiet or as_json else "auto"
    check_form(progress)
    if quiet and progress != "none":
        raise UserError(f"--quiet shows no progress: leave it out, or --progress {progress}")
    if as_json and progress == "json":
        raise UserError(
            "--json and --progress json both write to standard output: leave one out (the last line of "
            "--progress json has the document of --json)"
        )
    return progress


def search_in(session: RunSession, form: str, *, as_json: bool) -> None:
    """Run a search to the end. Raises UserError; an interrupted run can be resumed."""
    named = shlex.quote(str(session.path))
    try:
        record, costs = session.search(open_display(form))
    except KeyboardInterrupt:
        again = (
            f"continue with `vulcan resume {named}`" if is_begun(session.path) else f"start again, and delete {named}"
        )
        tell(f"interrupted; nothing is lost: {again}")
        raise
    if form == "json":
        return
    if as_json or not session.asks:
        print_run(session.path, record, costs, as_json=as_json, brief=True)
    if as_json:
        return
    if session.asks:
        say(
            f"The run is in {session.path}. `vulcan ask {named}` prints the next prompt, "
            f"`vulcan tell {named} --proposal ID --file reply.md` takes the reply to it."
        )
        return
    verdict = run_verdict(record)
    take = how_to_take(session.path, session.request.task, verdict, record.config.get("target"))
    say(f"\nThe run is in {session.path}. Look at what it found with `vulcan show {named}`; {take}.")
    safe = tuple(load_evaluator(session.request.task).safe_policies())
    is_usual = record.config["objective"] == session.request.task.objective().name  # by which a guard counts losses
    if verdict is not None and verdict.kind == "candidate" and safe and is_usual:
        say(
            f"Nothing measured here tells what comes later: `vulcan export {named} --guard {safe[0]} -o guarded.py` "
            f"bounds what it can lose to {safe[0]}."
        )


_ALLOWED_WITH_REPLAY = {"replay", "runs_dir", "quiet", "progress", "as_json", *EXECUTION_OPTIONS}


def configured(context: typer.Context, file: Path | None, replay: str | None, runs: Path) -> SearchRequest:
    """Return the search given by command-line options, which override those of a file. Raises UserError."""
    given = {name: value for name, value in context.params.items() if is_given(context, name)}
    machines = {name: given[name] for name in EXECUTION_OPTIONS if name in given}
    if replay is not None:
        typed = {name for name in given if _source(context, name) == "COMMANDLINE"}
        others = [f"--{name.replace('_', '-')}" for name in sorted(typed - _ALLOWED_WITH_REPLAY)]
        if others or context.args:
            raise UserError(f"--replay repeats a run as it was: leave out {(others or context.args)[0]}")
        return SearchRequest.of_replay(find_run(replay, runs), machines)

    def sorted_for(task: Task) -> Sorted:
        return {name: _plain(given[name]) for name in OPTIONS if name in given}, task_settings(task, context)

    return SearchRequest.of(given.get("task"), file, machines, sorted_for)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def is_given(context: typer.Context, name: str) -> bool:
    """Check whether an option was given on the command line or in the environment."""
    return _source(context, name) in ("COMMANDLINE", "ENVIRONMENT")


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return source.name if source is not None else ""


def show_dry_run(task: Task, config: SearchConfig, evidence: EvaluationSet, form: str, *, as_json: bool) -> None:
    """Print the instances, estimated cost and first prompt of a search, without calling a model.

    Baselines and the task's own policies are measured, as the prompt has their scores. Raises UserError.
    """
    machines = ExecutionConfig("local", 1)
    with (
        open_display(form) as display,
        open_study(task, config, MemoryStore(), evidence, machines, display) as study,
    ):
        proposal, planned = study.ask(), study.total
    assert proposal is not None, "a search makes at least one proposal"
    messages = proposal.messages
    models = forecast_models(task, config, messages)
    limits = forecast_limits(config, planned, models)
    if as_json:
        print_json(_document(task, config, evidence, planned, messages, models, limits))
        return
    repairs = count(config.repairs, "repair")
    say(f"{count(planned, 'proposal')} by {config.strategy}, up to {repairs} each")
    _show_evidence(evidence)
    _show_models(models, planned)
    _show_limits(limits)
    say(f"\nThe first prompt, about {expected_tokens(messages)} tokens:\n")
    for message in messages:
        say(message.content.rstrip())


def _show_evidence(evidence: EvaluationSet) -> None:
    rows: list[tuple[str, str]] = [(i.name, i.split) for i in evidence.instances]
    rows += [(i.name, f"rung {rung.name}, keeps {rung.keep:.0%}") for rung in evidence.rungs for i in rung.instances]
    print_table(("instance", "used for"), rows)


def _show_models(models: list[ModelEstimate], proposals: int) -> None:
    print_table(
        ("model", "can be called", "tokens per proposal", "dollars per proposal", f"dollars for all {proposals}"),
        [
            (
                m.model,
                "no" if m.problem else "yes",
                str(m.tokens_in + m.tokens_out),
                format_price(m.dollars),
                format_price(None if m.dollars is None else m.dollars * proposals),
            )
            for m in models
        ],
    )
    for model in models:
        if model.problem:
            say(model.problem)
    say(
        f"Estimates: replies of {REPLY_TOKENS} tokens at most to prompts as long as the first, though later ones are "
        "longer and a reasoning model's replies may have ten times as many (--max-tokens is a bound), and no repairs"
        + ("; each model as if it gave all replies." if len(models) > 1 else ".")
    )


def _show_limits(limits: list[BudgetEstimate]) -> None:
    say("What ends the search, the first to do so before the others:")
    for limit in limits:
        after = "cannot be told" if limit.proposals is None else f"about {count(limit.proposals, 'proposal')}"
        say(f"  {limit.name} {limit.limit:g}: {after}")


def _document(
    task: Task,
    config: SearchConfig,
    evidence: EvaluationSet,
    planned: int,
    messages: tuple[Message, ...],
    models: list[ModelEstimate],
    limits: list[BudgetEstimate],
) -> DryRunDocument:
    return {
        "task": task.name,
        "proposals": planned,
        "instances": [{"instance": i.name, "split": i.split} for i in evidence.instances],
        "rungs": [{"rung": r.name, "keep": r.keep, "instances": [i.name for i in r.instances]} for r in evidence.rungs],
        "prompt_tokens": expected_tokens(messages),
        "models": models,
        "budgets": limits,
        "messages": messages_document(messages),
    }
