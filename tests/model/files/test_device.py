"""Where the model runs: the first device that is there and computes correctly, with a word about those that do not."""

import platform

import pytest
import torch
from torch import Tensor

from model.files import device
from model.files.device import pick_device


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Which devices are there, and what is wrong with each ('' for nothing)."""
    faults: dict[str, str] = {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in faults)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: "mps" in faults)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Big GPU")
    monkeypatch.setattr(device, "_works", lambda one: faults[one.type])
    return faults


def test_without_a_gpu_it_is_the_cpu(there: dict[str, str]) -> None:
    picked = pick_device()
    assert (picked.torch.type, picked.label, picked.note) == ("cpu", f"CPU · {platform.machine()}", "")


def test_a_gpu_that_works_is_taken_and_cuda_first(there: dict[str, str]) -> None:
    there["mps"] = ""
    assert (pick_device().torch.type, pick_device().label) == ("mps", "GPU · Apple GPU")
    there["cuda"] = ""
    assert (pick_device().torch.type, pick_device().label, pick_device().note) == ("cuda", "GPU · Big GPU", "")


def test_a_gpu_that_does_not_work_is_named_with_its_fault(there: dict[str, str]) -> None:
    there["cuda"] = "out of order"
    picked = pick_device()
    assert picked.torch.type == "cpu"
    assert picked.note == "The GPU (cuda) could not be used: out of order. The model runs on the CPU instead."


def test_a_device_works_if_a_small_product_comes_out_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 × 8 ones times 8 × 8 ones: 64 entries of 8."""
    cpu = torch.device("cpu")
    assert device._works(cpu) == ""
    ones = torch.ones

    def wrong(*shape: int, device: torch.device) -> Tensor:
        return ones(*shape) * 1.01

    def failing(*shape: int, device: torch.device) -> Tensor:
        raise RuntimeError("no kernel\nat line 3")

    monkeypatch.setattr(torch, "ones", wrong)
    assert device._works(cpu) == "it computes wrong results"
    monkeypatch.setattr(torch, "ones", failing)
    assert device._works(cpu) == "no kernel"
