"""Libraries of policies: one for each kind of workload, and the choice among them."""
