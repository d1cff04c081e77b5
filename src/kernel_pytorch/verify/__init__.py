"""Checks of a port: each says passed, failed or not run, and never shares code with what made the port."""
