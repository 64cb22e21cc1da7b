"""A simulator of jobs with deadlines on spot VMs.

    from vulcan_spot.job import SpotJob
    from vulcan_spot.simulate import simulate
    from vulcan_spot.windows import Windows

runs a policy of the task `spot_single`, or a known one, over windows of availability.
"""
