"""A simulator of language-model servers: engines with continuous batching and a KV cache, and routers before them.

    from vulcan_serving.simulate import simulate
    from vulcan_serving.spec import ServingSpec
    from vulcan_serving.workload import ServingWorkload

runs policies of the tasks `request_scheduling` and `request_routing`.
"""
