"""A module's forward as a graph that can be edited, and the forward that is put in its place."""
