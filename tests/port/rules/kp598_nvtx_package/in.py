import nvtx
import torch


@nvtx.annotate("step")
def step(x):
    return x + 1


def late():
    from nvtx import annotate

    return annotate
