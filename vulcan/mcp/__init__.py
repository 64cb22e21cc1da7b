"""Searches for an agent, over the Model Context Protocol: the agent writes the policies."""
