"""A Model Context Protocol (MCP) server: an agent acts as the model and writes the policies."""
