"""Golden vectors: what a model computes on one machine, recorded module by module, checked on another.

`record` runs the model on the reference machine; `check` replays it elsewhere, compares every module's inputs and
outputs, and names the first place that differs and how.
"""
