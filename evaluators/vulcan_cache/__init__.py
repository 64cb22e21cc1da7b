"""A trace-driven simulator of cache eviction.

    from vulcan_cache.simulate import simulate

runs a policy of the task `cache_eviction`; `vulcan_cache.baselines` has the known policies.
"""
