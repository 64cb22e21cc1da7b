"""Language models: requests, replies, budgets, and the providers and servers that answer."""
