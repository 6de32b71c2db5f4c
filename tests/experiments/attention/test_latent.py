"""Keys and values through r numbers: what is lost and what is not, on a random model and as measured."""

import copy
import itertools
import math
import operator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments.attention.latent import SIZES, WHOLE, at_sizes, basis_of, figures, squeezed, squeezed_pass, through
from figures.statistics import softmax
from model.decoding.strategies import Greedy
from model.text.tokenizer import EOS_ID
from model.trace import trace
from model.translate import translate
from pages.beyond_attention.smaller_memory import running, scene
from tests.family import small
from tests.small import SENTENCES
from training.measure.latent import Written, bases_of, compared, logits_of, rows
from ui import engine


def test_r_as_wide_as_the_row_that_makes_both_loses_nothing_and_fewer_lose_more(tmp_path: Path) -> None:
    (file := tmp_path / "text.txt").write_text("\n".join(SENTENCES))
    loaded = small("gpt-mini")
    found, row = bases_of(loaded, file), next(iter(rows(loaded, file)))
    away = []
    for r in (42, 20, 5):
        network = copy.deepcopy(loaded.model)
        for n, layer in enumerate(network.get_submodule("decoder.layers")):  # type: ignore[arg-type, var-annotated]
            basis, scales = (found[f"layers.{n}.{one}"].float() for one in ("basis", "scales"))
            layer.self_attn = through(layer.self_attn, basis[:, :r], scales)
        other = replace(loaded, model=network)
        away.append(float((logits_of(other, row) - logits_of(loaded, row)).abs().max()))
    assert away[0] < 1e-4
    assert 1e-2 < away[1] < away[2]


def test_directions_are_those_along_which_both_are_longest_each_in_its_own_unit() -> None:
    # Values lie along (0, 1), ten times as long as keys, which lie along (1, 0) and, rarely, (0, 1).
    z = torch.tensor([[1.0, 0, 0, 10], [1, 0, 0, -10], [1, 0.1, 0, 10]], dtype=torch.float64)
    basis, scales = basis_of(z.T @ z, 2)
    assert scales.tolist() == pytest.approx([1, 10 / math.sqrt(3.01 / 3)])
    assert (basis.T @ basis).numpy() == pytest.approx(torch.eye(2).numpy())
    assert (basis @ basis.T).diagonal().tolist() == pytest.approx([1, 0, 0, 1], abs=0.01)


def test_with_a_cache_it_writes_what_it_writes_without() -> None:
    loaded = engine.model()
    other = squeezed(loaded, 16)
    sentence = "If it rains tomorrow, we will stay at home."
    ids = loaded.tokenizer.encode(translate(other, sentence, Greedy()))
    _, tensors = squeezed_pass(loaded, 16, (*loaded.tokenizer.encode(sentence), EOS_ID), (1, *ids))
    assert tensors["logits"].argmax(-1).tolist() == [*ids, EOS_ID]
    assert tensors["decoder.layers.0.self_attn.squeezed"].shape == (len(ids) + 1, 16)


@pytest.mark.parametrize("sentence", ["I ate an apple", "If it rains tomorrow, we will stay at home. " * 4])
def test_several_sizes_at_once_keep_and_write_what_each_does_alone(sentence: str) -> None:
    loaded, most = engine.model(), 12
    whole = engine.trace(sentence)
    found = at_sizes(loaded, SIZES[1:], whole.src_ids, whole.label_ids[:most])
    assert tuple(found) == SIZES[1:]
    last = f"decoder.layers.{loaded.config.n_layers - 1}.self_attn.squeezed"
    for r, one in found.items():
        other, tensors = squeezed_pass(loaded, r, whole.src_ids, whole.tgt_ids)
        assert one.kept == pytest.approx(tensors[last][:most], abs=1e-4)
        given, ids = softmax(tensors["logits"][:most]), whole.label_ids[:most]
        assert one.chances == pytest.approx(given[range(len(ids)), ids].tolist(), abs=1e-4)
        assert one.likeliest == tuple(given.argmax(-1).tolist())
        written = trace(other, sentence, decoding=Greedy(most)).label_ids
        same = sum(itertools.accumulate((a == b for a, b in zip(written, ids, strict=False)), operator.and_))
        assert one.ids == written[: same + 1]


@pytest.mark.parametrize("r", [0, -1, 12, 513])
def test_another_r_is_refused(r: int) -> None:
    with pytest.raises(ValueError, match=rf"^r={r} is none of 256, 128, "):
        squeezed(engine.model(), r)


def test_a_quarter_keeps_the_translator_and_an_eighth_gpt() -> None:
    translator, gpt = figures("translator"), figures("gpt-mini")
    assert translator["128"]["same"] >= 0.95
    assert gpt["64"]["perplexity"] <= 1.02 * gpt[str(WHOLE)]["perplexity"]
    for measured in (translator, gpt):
        shares = [measured[str(r)]["same"] for r in (WHOLE, *SIZES)]
        assert shares == sorted(shares, reverse=True)
        assert shares[1] > 0.999  # the row of 256 numbers that makes both


def test_what_two_have_in_common_is_counted() -> None:
    whole = Written(1.0, torch.tensor([3, 4, 5, 6]), ["a", "b"])
    other = Written(2.0, torch.tensor([3, 4, 5, 7]), ["a", "c"])
    expected = {"loss": 2.0, "perplexity": 7.39, "same": 0.75, "same_sentences": 0.5}
    assert compared(other, whole) == expected


def test_the_scene_opens_where_the_translation_first_becomes_another_or_at_the_end() -> None:
    train, unchanged = "They were waiting for the last train.", "The boy sees the girl."
    for sentence, stop in (("I ate an apple", "8"), (train, "16"), (unchanged, "8")):
        shown = scene(engine.trace(sentence))
        assert shown.frames[shown.start].stop == stop
    assert "It writes the same." in shown.frames[-1].answer


def test_the_row_in_tiles_is_one_whose_largest_score_rises() -> None:
    *_, states = running(engine.trace("I ate an apple"))
    assert any(0 < state.correction < 1 for state in states)
