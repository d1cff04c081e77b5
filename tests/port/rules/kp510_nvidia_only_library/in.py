import tensorrt as trt
import torch
from numba import cuda
from nvidia.dali import fn, pipeline_def
import cuda.bindings.driver as driver
import flashinfer
