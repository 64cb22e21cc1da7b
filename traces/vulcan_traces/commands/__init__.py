"""What the commands of `vulcan_traces.command` are made of."""
