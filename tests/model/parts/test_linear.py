"""The product with a weight matrix is torch's, whether it reads the weights themselves or their copy in 16 bits."""

import copy
import ctypes
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from model.parts.fp16_matmul import Linear, bytes_in_16_bits, has_product, times_transposed

D, K = 13, 31

needs_product = pytest.mark.skipif(not has_product(), reason="this machine has no product with 16 bits")


def test_this_torch_still_has_the_product_with_16_bits() -> None:
    names = ("fbgemm_pack_gemm_matrix_fp16", "fbgemm_linear_fp16_weight_fp32_activation")
    missing = [name for name in names if not hasattr(torch, name)]
    assert not missing, (
        f"torch {torch.__version__} lacks {', '.join(missing)}: every product would read 32 bits and take up to twice "
        "as long. Keep the version that requirements.txt pins, or write times_transposed of "
        "model/parts/fp16_matmul.py for what replaces it, and measure again: python -m benchmarks.peers"
    )


@pytest.fixture
def weight() -> Tensor:
    """A matrix that 16 bits hold exactly, as they do the weights that come with the app."""
    return torch.randn(D, K).half().float()


def has_copy(weight: Tensor) -> bool:
    return getattr(weight, "in_16_bits", (0, None))[1] is not None


@pytest.mark.parametrize("bias", [None, torch.randn(D)])
@pytest.mark.parametrize(
    "x",
    [torch.randn(2, 7, K), torch.randn(1, 1, K), torch.randn(5, K), torch.randn(2, K, 7).mT, torch.randn(2, 0, K)],
    ids=lambda x: str(tuple(x.shape)),
)
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_it_is_torchs(weight: Tensor, x: Tensor, bias: Tensor | None, mode: Callable[[], torch.inference_mode]) -> None:
    with mode():
        assert_close(times_transposed(x, weight, bias), functional.linear(x, weight, bias), atol=1e-5, rtol=1e-5)


def test_the_layer_is_torchs() -> None:
    ours, theirs = Linear(K, D), torch.nn.Linear(K, D)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 7, K)
    assert_close(ours(x), theirs(x))


@needs_product
def test_the_copy_is_read_where_nothing_is_learned_and_it_holds_the_same_numbers(weight: Tensor) -> None:
    x = torch.randn(2, 7, K)
    times_transposed(x, weight)
    assert not has_copy(weight)
    with torch.inference_mode():
        times_transposed(x, weight)
        assert has_copy(weight)
        made_here = weight.clone()
    for other in (weight + 1e-6, weight * 1e6, weight.double(), weight.clone().requires_grad_(), made_here):
        with torch.inference_mode():
            times_transposed(x.to(other.dtype), other)
        assert not has_copy(other)


def test_a_change_of_the_weights_is_seen(weight: Tensor) -> None:
    x = torch.randn(2, 7, K)
    with torch.inference_mode():
        before = times_transposed(x, weight)
    weight.mul_(2)
    with torch.inference_mode():
        assert_close(times_transposed(x, weight), 2 * before, atol=1e-5, rtol=1e-5)


def test_a_copy_of_a_layer_reads_its_own_weights(weight: Tensor) -> None:
    layer, x = Linear(K, D, bias=False).requires_grad_(False), torch.randn(2, 7, K)
    layer.weight.copy_(weight)
    with torch.inference_mode():
        before = layer(x)
    other = copy.deepcopy(layer)
    other.weight.zero_()
    with torch.inference_mode():
        assert not other(x).any()
        assert_close(layer(x), before)


def test_what_goes_in_learns_through_frozen_weights(weight: Tensor) -> None:
    x = torch.randn(7, K, requires_grad=True)
    with torch.inference_mode():
        times_transposed(x, weight)  # a copy is kept
    times_transposed(x, weight).sum().backward()
    assert x.grad is not None
    assert_close(x.grad, weight.sum(0).expand(7, K))


def test_where_torch_has_no_such_product_all_is_the_same(weight: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "fbgemm_pack_gemm_matrix_fp16")
    has_product.cache_clear()
    x = torch.randn(2, 7, K)
    with torch.inference_mode():
        assert not has_product()
        assert torch.equal(times_transposed(x, weight), functional.linear(x, weight))
    assert not has_copy(weight)
    has_product.cache_clear()


class Allocated(ctypes.Structure):
    """What glibc's mallinfo2 returns: ten sizes in bytes."""

    _fields_ = [(f"f{n}", ctypes.c_size_t) for n in range(10)]

    @classmethod
    def now(cls) -> int:
        """Memory in use, in bytes: in mapped blocks, and in the heaps."""
        mallinfo2 = ctypes.CDLL(None).mallinfo2
        mallinfo2.restype = cls
        info = mallinfo2()
        return int(info.f4 + info.f7)


@needs_product
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc from 2.33 tells what is allocated")
@pytest.mark.parametrize("k", [128, 256, 700])
def test_a_copy_takes_the_memory_that_is_counted(k: int) -> None:
    weight = torch.ones(8000, k)
    before = Allocated.now()
    copies = [torch.fbgemm_pack_gemm_matrix_fp16(weight) for _ in range(8)]
    assert (Allocated.now() - before) / len(copies) == pytest.approx(bytes_in_16_bits(weight), rel=0.01)
