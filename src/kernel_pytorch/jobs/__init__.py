"""What `kpt` does, as functions: the command line, the MCP server and Python callers share them."""
