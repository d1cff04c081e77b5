"""Builds of what was ported, with a real compiler, reported on the lines of the user."""
