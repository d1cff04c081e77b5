"""Test code imports other test code by its full name: `from tests.port.ptx import ptx_model`.

Only this folder needs an `__init__.py`: it makes ours win over a stray package `tests` in site-packages.
"""
