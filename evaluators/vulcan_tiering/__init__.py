"""A simulator of memory tiering: which pages belong in the fast tier.

    from vulcan_tiering.simulate import simulate

runs a policy of the task `memory_tiering`; `KNOWN` there are the known policies.
"""
