import onnxruntime as ort


def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()


def session(path, device):
    providers = ["MIGraphXExecutionProvider", "CPUExecutionProvider"] if IS_ROCM else ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
    first = ort.InferenceSession(path, providers=["MIGraphXExecutionProvider", "CPUExecutionProvider"] if IS_ROCM else [("CUDAExecutionProvider", {"device_id": device}), "CPUExecutionProvider"])
    second = ort.InferenceSession(path, None, (["MIGraphXExecutionProvider", "CPUExecutionProvider"] if IS_ROCM else ["CUDAExecutionProvider"]))
    third = ort.InferenceSession(path, providers=(["MIGraphXExecutionProvider", "CPUExecutionProvider"] if IS_ROCM else ["CUDAExecutionProvider"]) if device else ["CPUExecutionProvider"])
    return first, second, third, providers
