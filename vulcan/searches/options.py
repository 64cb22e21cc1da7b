"""What each option of a search means: the help of the command line, and the schema of an MCP client.

Light enough to be loaded for `vulcan --help`.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "model": "A model as litellm names it; `offline/evolve`: a generator, no language model, that needs no key; or "
    "`ask`: the prompts are answered with `vulcan ask` and `vulcan tell`. Given several times, the search gives each "
    "model as much to do as its gain for its price is worth.",
    "api_base": "An OpenAI-compatible server that has the model, such as http://localhost:8000/v1.",
    "temperature": "Of the model, or from first to last, as 1.1:0.4; default: the server's.",
    "max_tokens": "Of a reply; default: the server's.",
    "objective": "What is good; default: the task's first objective.",
    "strategy": "How the search goes on: evolve, policysmith, or best-of-n, which learns nothing.",
    "rounds": "Rounds of the plan.",
    "samples": "Candidates a round.",
    "parents": "Candidates that a proposal is shown to build on.",
    "islands": "Populations of evolve that only meet by migration.",
    "migrate_every": "Proposals between migrations of evolve.",
    "advice_every": "Proposals between requests of evolve for lessons from the search so far; 0: none.",
    "diff": "Whether replies may be changes to the parent: auto, as the model copes; never; always.",
    "in_flight": "Proposals that may be without a verdict when evolve drafts the next one.",
    "repairs": "Further replies that a rejected program may get in its chat.",
    "budget_candidates": "Stop after so many proposals; default: rounds x samples.",
    "budget_dollars": "Never spend more on models, calls under way included.",
    "budget_tokens": "Never use more tokens, calls under way included.",
    "budget_minutes": "Ask no model after so many minutes.",
    "racing": "Score on cheaper versions of the instances first, and only the better ones fully.",
    "tune": "Evaluations that the constants of each new best candidate are tuned with, and three times as many for the "
    "one at the end; at least 8, or 0 for none.",
    "simplify": "Evaluations that the best candidate is made simpler with at the end; 0: none.",
    "control": "Compare with best-of-n at the same budget, which costs as much again.",
    "seed": "One seed and the same replies give the same run.",
    "split": "`task`: hold out evidence as the task declares; `none`: search on all of it, as the papers do.",
    "finalists": "Candidates that are measured on the split validation.",
    "limit": "Seconds that one candidate may take on all its instances.",
}
"""Of the options of `vulcan.searches.config.SearchConfig`, but for the task and its settings."""

OF_MODELS = ("api_base", "temperature", "max_tokens", "budget_dollars", "budget_tokens", "budget_minutes", "control")
"""Those that say nothing of a search whose prompts are answered through ask and tell."""

STRATEGIES = ("evolve", "policysmith", "best-of-n")
"""The names of the strategies in `vulcan.searches.strategies`."""

PROGRESS = ("auto", "rich", "plain", "json", "none")
"""How a search is shown while it runs; see `vulcan.progress`."""
