import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
if torch.cuda.is_available():
    torch.cuda.manual_seed_all(0)
    model = torch.nn.Linear(2, 2).cuda()
if torch.cuda.is_available() and torch.version.hip is None:
    import pynvml
if torch.cuda.is_available():
    try:
        import tensorrt
    except ImportError:
        tensorrt = None
