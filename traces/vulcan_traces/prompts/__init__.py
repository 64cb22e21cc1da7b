"""Traces of requests to language-model servers: the token blocks of each prompt, its output, arrival and conversation.

load_prompts("log.jsonl")                         a log in a known format
load_prompts("chat:requests=4000,seed=1")         a generated workload
"""

from vulcan_traces.prompts.generators import PROMPT_WORKLOADS
from vulcan_traces.prompts.load import load_prompts
from vulcan_traces.prompts.prompt_trace import PromptTrace

__all__ = ["PROMPT_WORKLOADS", "PromptTrace", "load_prompts"]
