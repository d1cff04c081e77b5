"""Renderers. They see the report dataclass and nothing else: no environment, no disk."""
