import onnxruntime as ort
import torch

IS_ROCM = torch.version.hip is not None


def session(path):
    if "CUDAExecutionProvider" in ort.get_available_providers():
        print("CUDAExecutionProvider")
    gated = ["MIGraphXExecutionProvider"] if IS_ROCM else ["CUDAExecutionProvider"]
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"]), gated
