"""The lesson on masks, by what it would show; NumPy computes every number again."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.pages.kit import component, markdown, opened, size, table, values
from ui import engine, experiments
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("masking").slug
SENTENCE = "The black cat fights the white cat."
HEAD = "decoder.layers.1.self_attn"  # as in the address below: layer 2, head 3


def at(**parameters: str) -> AppTest:
    return opened(PAGE, sentence=SENTENCE, layer="2", head="3", **parameters)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("stage", "name"),
    [("1 before the mask", "scaled"), ("2 after the mask", "scores"), ("3 after the softmax", "weights")],
)
def test_the_three_stages(stage: str, name: str) -> None:
    page = at(mask_stage=stage)
    trace = engine.trace(SENTENCE)
    scaled = trace.tensors[f"{HEAD}.scaled"][2]
    future = np.triu(np.ones_like(scaled, dtype=bool), 1)
    scores = np.where(future, -np.inf, scaled)
    expected = {"scaled": scaled, "scores": scores, "weights": softmax(scores)}[name]
    np.testing.assert_allclose(values(page, "see_matrix"), expected, atol=1e-6)
    assert (component(page, "see_matrix")["hidden"] is not None) == (name != "scaled")


def test_a_masked_cell_is_worked_out_too() -> None:
    assert "How did this −∞ come about?" in markdown(at(cell="2.4"))
    text = markdown(at(cell="2.4", mask_stage="3 after the softmax"))
    assert "How did this 0.0000 come about?" in text
    assert r"e^{-\infty} = 0 \;\Rightarrow\; 0.0000" in text


def test_the_triangle() -> None:
    trace = engine.trace("I ate an apple")
    lines = table(opened(PAGE), "row", "it sees")
    assert [int(line[0]) for line in lines] == list(range(len(trace.tgt)))
    assert lines[0][1] == "<sos>"
    assert lines[2][1].split() == ["<sos>", trace.labels[0].text, trace.labels[1].text]
    assert lines[-1][2] == "<eos>"


def test_lifting_the_causal_mask_shows_the_future() -> None:
    page = at()
    before, after = values(page, "do_before"), values(page, "do_after")
    length = len(before)
    future = np.triu_indices(length, 1)
    assert (before[future] == 0).all()
    assert (after[future] > 0).all()
    np.testing.assert_allclose(after.sum(-1), 1, atol=1e-5)
    trace = engine.trace(SENTENCE)
    ids = tuple(tuple(t.id for t in tokens) for tokens in (trace.src, trace.tgt))
    labels = [t.id for t in trace.labels]
    logits = trace.tensors["logits"], experiments.causal_mask_lifted(*ids)["logits"]
    means = [softmax(x)[np.arange(length), labels].mean() for x in logits]
    found = re.search(r"goes from \*\*([\d.]+)\*\* to \*\*([\d.]+)\*\*", markdown(page))
    assert found
    assert [float(found[1]), float(found[2])] == pytest.approx(means, abs=5.1e-5)


@pytest.mark.parametrize("count", [1, 7])
def test_padding_changes_nothing_behind_its_mask(count: int) -> None:
    page = at(mask_trial="Add padding", pads=str(count))
    before, after = values(page, "do_before"), values(page, "do_after")
    assert before.shape[0] == len(engine.trace(SENTENCE).src) + count
    assert (before[:, -count:] == 0).all()
    assert (after[:, -count:] > 0).all()
    assert component(page, "do_before")["columns"][-count:] == ["<pad>"] * count
    masked, seen = table(page, "the same sentence with padding")
    assert size(masked[1]) < 1e-4
    assert masked[2] == "0"
    assert size(seen[1]) > 0.01


def test_all_at_once_is_one_by_one() -> None:
    page = at(mask_trial="All at once or one by one")
    alone, together, lifted = table(page, "", "runs of the decoder")
    assert int(alone[1]) == len(engine.trace(SENTENCE).tgt)
    assert size(together[2]) < 1e-4
    assert size(lifted[2]) > 0.1
    rows = table(page, "row", "reads")
    assert max(size(row[3]) for row in rows) == size(together[2])
    assert size(rows[-1][4]) > 0


def test_a_long_sentence_shows_a_part_and_says_which() -> None:
    long = "My neighbour's cat. " * 20
    page = opened(PAGE, sentence=long, mask_trial="Add padding", pads="4")
    assert values(page, "do_before").shape == (40, 40)
    assert re.search(r"Shown: the first 36 of \d+ pieces, and the padding", markdown(page))
    page = opened(PAGE, sentence="Tom, Mary, " * 30)
    n = len(engine.trace("Tom, Mary, " * 30).labels)
    assert n > 40
    assert f"Shown: the first 40 of {n} pieces. What is said below is about all." in markdown(page)


def test_the_decks_quiz_and_the_poll() -> None:
    page = at()
    page.radio[0].set_value(1).run()
    page.radio[1].set_value(2).run()
    for label in ("only in training", "Several heads"):
        next(box for box in page.checkbox if label in box.label).check().run()
    for n in range(3):
        [b for b in page.button if b.label == "Check my answer"][n].click().run()
    assert len(page.success) == 3
    assert "e / (e + e) = 0.5" in page.success[0].value
    assert f"{np.e / (2 * np.e + 1 / np.e + 1):.4f}" in page.success[0].value
