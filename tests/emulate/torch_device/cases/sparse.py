"""Sparse tensors on the emulated GPU: COO and the compressed layouts, made there, moved there, computed with."""

import pytest
import torch


def sample(device="cuda"):
    indices = torch.tensor([[0, 2, 1, 2], [1, 0, 2, 0]], device=device)
    values = torch.tensor([3.0, 4.0, 5.0, 6.0], device=device)
    return torch.sparse_coo_tensor(indices, values, (3, 4))


WANTED = torch.tensor([[0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 5.0, 0.0], [10.0, 0.0, 0.0, 0.0]])


def test_made_on_the_gpu():
    sparse = sample()
    assert sparse.is_sparse
    assert sparse.device == torch.device("cuda:0")
    assert sparse._values().device.type == "cuda"
    assert torch.equal(sparse.to_dense().cpu(), WANTED)
    merged = sparse.coalesce()
    assert merged.is_coalesced()
    assert merged.indices().shape == (2, 3)
    assert merged.values().is_cuda


def test_there_and_back():
    sparse = sample("cpu").to("cuda")
    assert sparse.is_cuda
    assert torch.equal(sparse.cpu().to_dense(), WANTED)
    assert not sparse.cpu()._values().is_cuda
    assert torch.equal(WANTED.cuda().to_sparse().to_dense().cpu(), WANTED)


def test_products_and_gradients():
    torch.manual_seed(0)
    weight = torch.randn(4, 2)
    results = []
    for device in ("cpu", "cuda"):
        dense = weight.to(device, copy=True).requires_grad_()
        product = torch.sparse.mm(sample(device), dense)
        product.square().sum().backward()
        results.append((product.detach().cpu(), dense.grad.cpu()))
    torch.testing.assert_close(results[0], results[1])


def test_written_in_place():
    sparse = sample().coalesce()
    sparse.mul_(2)
    assert torch.equal(sparse.to_dense().cpu(), WANTED * 2)
    dense = torch.ones(3, 4, device="cuda")
    dense.add_(sparse, alpha=0.5)
    assert torch.equal(dense.cpu(), WANTED + 1)


@pytest.mark.parametrize("optimizer", [torch.optim.SparseAdam, torch.optim.SGD])
def test_a_sparse_embedding_trains_as_on_the_cpu(optimizer):
    weights = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        table = torch.nn.Embedding(10, 3, sparse=True).to(device)
        steps = optimizer(table.parameters(), lr=0.1)
        for _ in range(2):
            steps.zero_grad()
            table(torch.tensor([1, 4, 4, 9], device=device)).square().sum().backward()
            assert table.weight.grad.is_sparse
            steps.step()
        weights.append(table.weight.detach().cpu())
    torch.testing.assert_close(weights[0], weights[1])


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_compressed_layouts(layout):
    sparse = WANTED.cuda().to_sparse(layout=layout)
    assert sparse.layout == layout
    assert sparse.values().is_cuda
    assert torch.equal(sparse.to_dense().cpu(), WANTED)
    assert torch.equal((sparse @ torch.eye(4, device="cuda")).cpu(), WANTED)


def test_a_sparse_tensor_and_one_of_the_cpu_are_refused():
    with pytest.raises(RuntimeError, match=r"same device|two devices|CUDA|cuda"):
        torch.sparse.mm(sample(), torch.ones(4, 2))
