"""What the tests of training share: twenty sentence pairs, and settings that one run leaves to the next."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from accelerate.state import AcceleratorState

NAMES, FOODS = ("Tom", "Mary", "John", "Anna", "Peter"), ("apples/Äpfel", "fish/Fisch", "bread/Brot", "cake/Kuchen")
PAIRS = [
    (f"{name} eats {food.split('/')[0]}.", f"{name} isst {food.split('/')[1]}.") for name in NAMES for food in FOODS
]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{english}\t{german}\n" for english, german in pairs), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def fresh_accelerator() -> Iterator[None]:
    """accelerate keeps its settings for the whole process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.tsv", PAIRS)
