"""What a run came to, as plain documents: the command line, an MCP client and a page show the same."""
