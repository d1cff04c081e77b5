"""Operators on the emulated GPU give what the CPU gives, on the GPU; views share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (everybody's name for it)
from torch.utils._pytree import tree_flatten, tree_map_only

A, B = torch.randn(6, 8), torch.randn(6, 8)
SQUARE = torch.randn(5, 5)
IMAGE = torch.randn(2, 4, 9, 9)
INDEX = torch.tensor([3, 0, 5])
WORDS = torch.randint(0, 6, (2, 7))
KERNEL, DEPTHWISE = torch.randn(4, 4, 3, 3), torch.randn(4, 1, 3, 3)
COMPLEX = torch.randn(4, 4, dtype=torch.complex64)
MASK = A > 0

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "arithmetic": (lambda a, b: (a + 2 * b, a / b, a**2, a // b, a % 3, -a, 1 - a), (A, B)),
    "comparisons": (lambda a, b: (a < b, a.isnan(), torch.maximum(a, b), torch.where(a > 0, a, b)), (A, B)),
    "pointwise": (lambda a: (a.exp(), a.tanh(), F.gelu(a), F.silu(a), a.sigmoid(), a.erf(), a.clamp(-1, 1)), (A,)),
    "reductions": (
        lambda a: (a.sum(), a.mean(1), a.std(0), a.amax(1), a.max(1), a.argmin(), a.prod(0), a.norm()),
        (A,),
    ),
    "scans": (lambda a: (a.cumsum(0), a.cumprod(1), a.logcumsumexp(1), a.cummax(0)), (A,)),
    "products": (lambda a, b: (a @ b.t(), torch.einsum("ij,ij->i", a, b), torch.addmm(a[:, :6], a, b.t())), (A, B)),
    "batched products": (lambda a: (torch.bmm(a[0], a[1]), a[0] @ a[0].mT), (IMAGE,)),
    "linear algebra": (lambda s: (torch.linalg.solve(s, s), torch.linalg.svdvals(s), torch.linalg.det(s)), (SQUARE,)),
    "shapes": (
        lambda a: (a.t(), a.reshape(-1), a[1:, ::2], a.flip(0), a.roll(1), a.unfold(0, 2, 1), a.permute(1, 0)),
        (A,),
    ),
    "joining": (lambda a, b: (torch.cat((a, b)), torch.stack((a, b), 1), *a.split(2), *a.chunk(3, 1)), (A, B)),
    "indexing": (lambda a, i: (a[i], a.index_select(0, i), a.take(i), a[i, 1], a.gather(0, i.view(1, 3))), (A, INDEX)),
    "masks": (lambda a, m: (a[m], a.masked_fill(m, 1.0), a.masked_select(m), m.nonzero()), (A, MASK)),
    "sorting": (lambda a: (a.sort(1), a.topk(3), a.argsort(0), a.unique(), a.median(1)), (A,)),
    "embedding": (lambda w, e: (F.embedding(w, e), F.one_hot(w, 6)), (WORDS, A)),
    "convolutions": (
        lambda x, k: (F.conv2d(x, k), F.conv_transpose2d(x, k), F.conv2d(x, k, dilation=2)),
        (IMAGE, KERNEL),
    ),
    "depthwise convolution": (lambda x, k: F.conv2d(x, k, groups=4), (IMAGE, DEPTHWISE)),
    "pooling": (lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 3), F.adaptive_avg_pool2d(x, 1)), (IMAGE,)),
    "resizing": (
        lambda x: (F.interpolate(x, scale_factor=2, mode="bilinear"), F.pad(x, (1, 1, 1, 1), "reflect")),
        (IMAGE,),
    ),
    "norms": (lambda x: (F.layer_norm(x, (9,)), F.group_norm(x, 2), F.rms_norm(x, (9,)), F.instance_norm(x)), (IMAGE,)),
    "batch norm": (
        lambda x: F.batch_norm(x, torch.zeros_like(x[0, :, 0, 0]), torch.ones_like(x[0, :, 0, 0])),
        (IMAGE,),
    ),
    "losses": (
        lambda a, b: (F.mse_loss(a, b), F.cross_entropy(a, b.softmax(1)), F.kl_div(a, b), F.huber_loss(a, b)),
        (A, B),
    ),
    "softmax": (lambda a: (a.softmax(1), a.log_softmax(0), a.logsumexp(1)), (A,)),
    "transforms": (lambda a: (torch.fft.rfft(a), torch.fft.irfft(torch.fft.rfft(a))), (A,)),
    "complex numbers": (lambda c: (c.conj() @ c, c.abs(), c.real, torch.view_as_real(c), c.conj().imag), (COMPLEX,)),
    "making": (
        lambda a: (torch.zeros_like(a), a.new_ones(3), torch.arange(5, device=a.device), a.new_full((2,), 7)),
        (A,),
    ),
    "triangles": (lambda s: (s.tril(), s.triu(1), s.diagonal(), s.trace(), torch.diag(s[0])), (SQUARE,)),
    "foreach": (lambda a, b: torch._foreach_add([a, b], [b, a]), (A, B)),
    "integers": (lambda w: (w.bincount() if w.dim() == 1 else w.sum(), w & 3, w << 1, w.float()), (WORDS,)),
    "histograms": (lambda a: (a.histc(5), torch.bucketize(a, torch.tensor([0.0, 1.0], device=a.device))), (A,)),
    "scatter": (
        lambda a, b: (
            torch.zeros_like(a).index_add(0, torch.arange(6, device=a.device), b),
            a.scatter(0, (b > 0).long(), b),
        ),
        (A, B),
    ),
    "half": (lambda a, b: ((a.half() @ b.half().t()).float(), (a.bfloat16() + b.bfloat16()).float()), (A, B)),
    "double": (lambda a: (a.double().sin(), a.to(torch.int32)), (A,)),
    "quantised": (lambda a: torch.fake_quantize_per_tensor_affine(a, 0.1, 0, -128, 127), (A,)),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), (IMAGE,)),
    "attention with a mask": (
        lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m),
        (IMAGE, torch.ones(9, 9).tril() > 0),
    ),
    "vmap": (lambda a, b: torch.vmap(torch.dot)(a, b), (A, B)),
    "jacobian": (lambda a: torch.func.jacrev(lambda v: v.sin().sum(0))(a[0]), (A,)),
}


def moved(value: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda tensor: tensor.cuda(), value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_operator_gives_what_the_cpu_gives(name: str) -> None:
    function, arguments = FUNCTIONS[name]
    wanted, _ = tree_flatten(function(*arguments))
    found, _ = tree_flatten(function(*moved(arguments)))
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        assert one.device == torch.device("cuda:0")
        torch.testing.assert_close(one.cpu(), other, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_gradients_are_those_of_the_cpu() -> None:
    def loss(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        y = F.gelu(F.conv2d(x, k, padding=1))
        y = F.layer_norm(F.max_pool2d(y, 2), (4,)) + F.dropout(y[:, :, ::2, ::2][:, :, :4, :4], 0.0)
        return F.scaled_dot_product_attention(y, y, y, is_causal=True).square().mean()

    grads = []
    for device in ("cpu", "cuda"):
        x, k = (t.detach().to(device).requires_grad_() for t in (IMAGE, KERNEL))
        loss(x, k).backward()
        grads.append((x.grad.cpu(), k.grad.cpu()))
    torch.testing.assert_close(grads[1], grads[0])


def test_views_share_memory_with_what_they_are_views_of() -> None:
    x = torch.zeros(4, 6, device="cuda")
    for view in (
        x[1],
        x.t()[2],
        x.view(6, 4)[5],
        x.as_strided((2,), (7,)),
        x.unfold(0, 2, 2),
        *x.split(2),
        x.diagonal(),
    ):
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert view._is_view() and view._base is x
    x.t()[2].fill_(1)
    x[3, 4:].add_(5)
    x.view(-1)[:1].mul_(0)
    assert x.sum().item() == 4 + 10
    y = torch.view_as_complex(torch.zeros(3, 2, device="cuda"))
    y.real.fill_(2)
    assert y.sum().item() == 6


def test_in_place_and_out_give_the_tensor_they_were_given() -> None:
    x, out = torch.ones(3, device="cuda"), torch.empty(0, device="cuda")
    version = x._version
    assert x.add_(1) is x and x._version == version + 1
    assert torch.add(x, x, out=out) is out
    assert out.tolist() == [4.0, 4.0, 4.0] and out.is_cuda and out.shape == (3,)
    joined = torch.empty(2, 9, device="cuda").t()[:0]
    torch.cat((x, out), out=joined)
    assert joined.tolist() == [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]
    values, places = torch.empty(0, device="cuda"), torch.empty(0, dtype=torch.long, device="cuda")
    torch.sort(x, out=(values, places))
    assert values.tolist() == [2.0] * 3
    x.resize_(2, 2)
    assert x.shape == (2, 2) and x[0].tolist() == [2.0, 2.0]
    x.set_(out)
    assert x.data_ptr() == out.data_ptr()


def test_half_precision_that_the_cpu_lacks_is_computed_in_single() -> None:
    x, wanted = torch.rand(4, 4, dtype=torch.bfloat16), torch.tensor([0, 1, 2, 3])
    with pytest.raises(NotImplementedError, match="BFloat16"):
        F.multi_margin_loss(x, wanted)
    found = F.multi_margin_loss(x.cuda(), wanted.cuda())
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.cpu(), F.multi_margin_loss(x.float(), wanted).bfloat16())
    y = x.cuda().requires_grad_()
    z = torch.softmax(y, 1, dtype=torch.float32)
    z.square().sum().backward()
    assert z.dtype == torch.float32 and y.grad.dtype == torch.bfloat16


def test_derivatives_that_are_zero_everywhere() -> None:
    x = torch.randn(3, device="cuda", requires_grad=True)
    (x.sgn() + x.floor() * 2).sum().backward()
    assert x.grad.tolist() == [0.0] * 3


def test_tensors_without_elements() -> None:
    x = torch.empty(0, 3, device="cuda")
    assert (x + 1).shape == (0, 3) and x.sum().item() == 0 and torch.cat((x, torch.ones(1, 3, device="cuda"))).is_cuda


def test_numbers_and_tensors_of_the_cpu_without_dimensions_are_taken() -> None:
    x = torch.ones(2, device="cuda")
    assert (x + torch.tensor(2.0)).tolist() == [3.0, 3.0]
    assert (x * 2 + 1).dtype == torch.float32 and (torch.tensor(2.5) * x).is_cuda
    assert x[torch.tensor([0])].is_cuda
    x[torch.tensor([1])] = 5
    assert x.tolist() == [1.0, 5.0]


def test_copies_between_the_devices() -> None:
    cpu = torch.arange(6.0).view(2, 3)
    gpu = cpu.cuda()
    assert gpu.cpu().equal(cpu) and gpu.t().cpu().equal(cpu.t())
    assert gpu.to(torch.float16).dtype == torch.float16 and gpu.to("cpu", torch.float64).dtype == torch.float64
    target = torch.empty(3, 2)
    target.copy_(gpu.t(), non_blocking=True)
    assert target.equal(cpu.t())
    gpu.copy_(torch.full((3,), 9.0))
    assert gpu.tolist() == [[9.0] * 3] * 2 and gpu[0, 0].item() == 9 and float(gpu[1, 1]) == 9
    assert "device='cuda:0'" in repr(gpu)
    back = gpu.cpu()
    assert back.untyped_storage().device.type == "cpu" and back.view(-1)[1:].add(1).device.type == "cpu"
    assert "device" not in repr(back) and target.untyped_storage().device.type == "cpu"
