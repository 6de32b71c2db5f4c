"""What the tests of training share: twenty sentence pairs, and settings that one run leaves to the next."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file

NAMES, FOODS = ("Tom", "Mary", "John", "Anna", "Peter"), ("apples/Äpfel", "fish/Fisch", "bread/Brot", "cake/Kuchen")
PAIRS = [
    (f"{name} eats {food.split('/')[0]}.", f"{name} isst {food.split('/')[1]}.") for name in NAMES for food in FOODS
]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{english}\t{german}\n" for english, german in pairs), encoding="utf-8")
    return path


class Killed(Exception):
    pass


def killed_after(n: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is n times; then comes the kill."""
    calls = iter(range(n))

    def dying(*args: Any, **kwargs: Any) -> Any:
        if next(calls, None) is None:
            raise Killed
        return function(*args, **kwargs)

    return dying


def same_weights(one: Path, other: Path) -> bool:
    """Whether two files hold the same, to the last bit."""
    weights, others = load_file(one), load_file(other)
    assert weights.keys() == others.keys()
    return all(torch.equal(weights[name], others[name]) for name in weights)


@pytest.fixture(autouse=True)
def fresh_accelerator() -> Iterator[None]:
    """accelerate keeps its settings for the whole process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.tsv", PAIRS)
