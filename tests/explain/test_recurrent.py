"""Every number of a recurrent network that is shown as worked out: the recorded one, and what its formula comes to."""

from pathlib import Path

import numpy as np
import pytest
import torch

from explain import Numbers, arrays, worked
from model.families.readers import Readers, ReadersConfig, load_readers, save_readers, trace_readers
from tests.explain.test_worked import HALF, some_cells
from tests.oracle.language.formula import agree

CONFIG = ReadersConfig(vocab_size=43, d_model=14, max_len=29)
GATES = ("input_gate", "forget_gate", "candidate", "output_gate")
NAMES = ["rnn.pre_activation", "rnn.hidden", *(f"lstm.{what}" for what in ("pre_activation", *GATES, "cell", "hidden"))]


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    readers = Readers(CONFIG)
    for parameter in readers.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    save_readers(tmp_path, CONFIG, readers)
    loaded = load_readers(tmp_path)
    return Numbers(trace_readers(loaded, "a text", (5, 17, 23, 5, 40, 41, 2)).tensors, loaded.weights, loaded.anatomy)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_ends_in_the_recorded_number_and_formula_and_snippet_come_to_it(name: str, numbers: Numbers) -> None:
    tensor = numbers[name]
    for index in some_cells(tensor.shape):
        step = worked(numbers, name, index)
        assert step.value == pytest.approx(tensor[index], rel=1e-6)
        assert agree(step.formula) == pytest.approx(step.value, abs=4 * HALF)
        scope = {"np": np, "t": arrays(numbers, [step])}
        assert eval(step.snippet, scope) == pytest.approx(step.value, rel=1e-4, abs=1e-4)
        if step.blank:
            assert agree(step.blank.formula) == pytest.approx(step.blank.answer, abs=1e-9)


def test_the_words_say_which_piece_and_which_gate(numbers: Numbers) -> None:
    first, third = (worked(numbers, "lstm.pre_activation", (row, 20)).says for row in (0, 2))
    assert "piece 1 times row 21 of W" in first
    assert "no piece before" in first
    assert "Then the state after piece 2 times row 21 of U" in third
    assert "Before the first piece the cell is 0" in worked(numbers, "lstm.cell", (0, 3)).says
    assert "Before" not in worked(numbers, "lstm.cell", (1, 3)).says
