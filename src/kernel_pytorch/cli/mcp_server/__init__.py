"""The parts of `kpt mcp`: which tools there are, where they may look, and the child process each call is."""
