"""Results of a run as plain documents, shared by the command line, MCP and the dashboard."""
