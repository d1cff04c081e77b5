import onnxruntime as ort


def session(path, device):
    providers = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
    first = ort.InferenceSession(path, providers=[("CUDAExecutionProvider", {"device_id": device}), "CPUExecutionProvider"])
    second = ort.InferenceSession(path, None, ["CUDAExecutionProvider"])
    third = ort.InferenceSession(path, providers=["CUDAExecutionProvider"] if device else ["CPUExecutionProvider"])
    return first, second, third, providers
