"""A packet-level simulator of congestion control over a trace-driven bottleneck.

    from vulcan_link.scenario import Flow, Queue, Scenario
    from vulcan_link.simulate import simulate

runs the known algorithms and policies of the task `congestion_control`.
"""
