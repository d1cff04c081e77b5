import bitsandbytes as bnb
import deepspeed
from transformers.utils import is_cupy_available

if is_cupy_available():
    import cupy

NOTE = "import cupy"
