"""A simulator of load balancing: requests, servers with queues, and balancers that know of them what was reported.

    from vulcan_load.simulate import simulate
    from vulcan_load.spec import Cluster

runs a known policy, or one of the task `load_balancing`.
"""
