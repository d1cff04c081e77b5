"""Training on the emulated GPU: the losses of the CPU, autocast, gradient scaling, recurrent layers, optimisers."""

from __future__ import annotations

import copy
import io

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812 (everybody's name for it)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.second(x))


class Transformer(nn.Module):
    def __init__(self, words: int = 33, width: int = 32, length: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        x = self.words(index) + self.places(torch.arange(index.shape[1], device=index.device))
        return self.head(self.blocks(x))


def losses(device: str, steps: int = 6) -> list[float]:
    torch.manual_seed(0)
    model = Transformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(1)
    found = []
    for _ in range(steps):
        data = torch.randint(33, (4, 17), generator=generator)
        x, y = data[:, :-1].to(device), data[:, 1:].to(device)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


def test_a_transformer_learns_what_it_learns_on_the_cpu() -> None:
    wanted, found = losses("cpu"), losses("cuda")
    assert found == pytest.approx(wanted, abs=1e-6)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_and_their_gradients(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    layer = kind(5, 7, num_layers=2, bidirectional=True)
    other = copy.deepcopy(layer).cuda()
    x = torch.randn(4, 3, 5)
    layer(x)[0].square().sum().backward()
    other(x.cuda())[0].square().sum().backward()
    for one, two in zip(layer.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(two.grad.cpu(), one.grad, rtol=1e-4, atol=1e-5)


def test_batch_norm_dropout_and_rms_norm_train() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.RMSNorm(144)
    )
    model.cuda()
    x = torch.randn(2, 3, 8, 8, device="cuda")
    out = model(x)
    out.square().mean().backward()
    assert out.is_cuda and all(p.grad is not None and p.grad.is_cuda for p in model.parameters())
    weight = torch.randn(6, requires_grad=True)
    values = torch.randn(3, 6, requires_grad=True)
    F.rms_norm(values, (6,), weight, 1e-6).square().sum().backward()
    on_gpu = [t.detach().cuda().requires_grad_() for t in (values, weight)]
    F.rms_norm(on_gpu[0], (6,), on_gpu[1], 1e-6).square().sum().backward()
    torch.testing.assert_close(on_gpu[0].grad.cpu(), values.grad)
    torch.testing.assert_close(on_gpu[1].grad.cpu(), weight.grad)


def test_autocast_and_gradient_scaling() -> None:
    torch.manual_seed(0)
    model = nn.Linear(8, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**4)
    x = torch.randn(4, 8, device="cuda")
    before = model.weight.detach().clone()
    with torch.autocast("cuda", dtype=torch.float16):
        y = model(x)
        assert y.dtype == torch.float16 and F.softmax(y, 1).dtype == torch.float32
    scaler.scale(y.float().square().mean()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(model.weight, before) and torch.isfinite(model.weight).all()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x.t()).dtype == torch.bfloat16


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"foreach": False}])
def test_optimisers_step_as_on_the_cpu(options: dict[str, bool]) -> None:
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = nn.Linear(5, 5).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 5, device=device)).square().sum().backward()
            optimizer.step()
        results.append(model.weight.detach().cpu())
    torch.testing.assert_close(results[1], results[0])


def test_what_is_saved_is_loaded_anywhere() -> None:
    model = nn.Linear(3, 3).cuda()
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    again = torch.load(buffer)
    assert again["weight"].is_cuda and again["weight"].equal(model.weight)
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu")["weight"].device.type == "cpu"
    storage = again["weight"].untyped_storage()
    storage.resize_(0)
    assert storage.nbytes() == 0 and storage.resize_(36).nbytes() == 36 and storage.device.type == "cuda"
    twin = copy.deepcopy(model)
    assert twin.weight.is_cuda and twin.weight.data_ptr() != model.weight.data_ptr()


def test_checkpointing_draws_the_same_numbers_again() -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(64, device="cuda", requires_grad=True)
    y = checkpoint(lambda v: F.dropout(v * 2, 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(y.detach() != 0, x.grad != 0)
