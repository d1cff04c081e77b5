import aiter
import torch


def attention(q, k, v):
    return torch.ops.aiter.mha_fwd.default(q, k, v)[0]


@torch.compiler.disable
def save(model, path):
    torch.save(model, path)


class Model(torch.nn.Module):
    def forward(self, x):
        return attention(x, x, x)


def build(x):
    model = torch.compile(Model())
    save(model, "model.pt")
    return model, aiter.rms_norm(x)
