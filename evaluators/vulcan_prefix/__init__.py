"""A simulator of prefix caches of language-model servers: which cached prompts are evicted.

    from vulcan_prefix.simulate import simulate

runs a policy of the task `prefix_cache`, or a known one, over a trace of `vulcan_traces.prompts`.
"""
