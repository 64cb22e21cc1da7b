"""Active queue management: the bottleneck's queue is managed by RED, PIE or a policy."""
