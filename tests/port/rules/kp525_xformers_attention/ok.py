import xformers
from diffusers.utils import is_xformers_available

if is_xformers_available():
    from xformers.ops import memory_efficient_attention


def enable(pipe):
    pipe.enable_xformers_memory_efficient_attention()
