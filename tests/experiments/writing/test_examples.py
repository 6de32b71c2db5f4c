"""Everyday sentences run through the model in one batch, beside the oracle's passes one by one."""

from functools import cache

import numpy as np
import pytest

from experiments.writing.examples import example_rows, hidden_in_examples, run_examples
from model.files.loaded_model import LoadedModel, load_folder
from tests.oracle.passes.forward import EOS, Forward, source_ids


@cache
def loaded() -> LoadedModel:
    return load_folder()


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_hidden_units_piece_by_piece(stack: str) -> None:
    runs = run_examples(loaded())
    assert tuple(runs) == loaded().about.everyday
    oracles = [Forward(source_ids(text), [*(t.id for t in run.tgt[1:]), EOS]) for text, run in runs.items()]
    assert all(oracle.is_greedy() for oracle in oracles)
    expected = np.concatenate([oracle[f"{stack}.layers.1.feed_forward.hidden"] for oracle in oracles])
    texts, hidden = hidden_in_examples(loaded(), stack, 1)
    np.testing.assert_allclose(hidden, expected, atol=3e-3)
    ids = [id for oracle in oracles for id in oracle.ids[stack]]
    assert texts == tuple(token.text for id in ids for token in loaded().tokenizer.tokens([id]))


def test_the_sums_of_both_stacks_are_there_too() -> None:
    (run, *_) = run_examples(loaded()).values()
    for stack, n in (("encoder", 2), ("decoder", 3)):
        tokens, tensors = example_rows(run, stack)
        assert len(tensors[f"{stack}.layers.2.add_norm_{n}.sum"]) == len(tokens)
