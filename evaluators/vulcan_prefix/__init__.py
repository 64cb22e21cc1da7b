"""A simulator of prefix caches of language-model servers: which cached prompts are evicted.

    from vulcan_prefix import simulate

runs a policy of the task `prefix_cache`, or a known one, over a trace of `vulcan_traces.prompts`.
"""

from vulcan_prefix.server import Server
from vulcan_prefix.simulate import BASELINES, BOUND, ServingResult, simulate

__all__ = ["BASELINES", "BOUND", "Server", "ServingResult", "simulate"]
