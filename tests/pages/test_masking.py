"""The lesson on masks, by what it would show; NumPy computes every number again."""

import html
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from experiments.passes import forward
from model.interventions import Interventions
from tests.pages.kit import component, flow, markdown, opened, size, table, values
from ui import engine

PAGE = "masking"
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


def test_the_triangle() -> None:
    trace = engine.trace("I ate an apple")
    (body,) = (e.proto.body for e in opened(PAGE).get("html") if e.proto.body.startswith('<table class="tw-triangle"'))
    lines = re.findall(r"<tr>(.*?)</tr>", body)[1:]
    assert len(lines) == len(trace.tgt)
    for i, line in enumerate(lines):
        assert f'<th scope="row">{i + 1}</th>' in line
        cells = [(kind, html.unescape(text)) for kind, text in re.findall(r'<td class="(\w+)">(.*?)</td>', line)]
        seen = [("seen", token.text) for token in trace.tgt[: i + 1]]
        hidden = [("hidden", "−∞")] * (len(trace.tgt) - i - 1)
        assert cells == [*seen, *hidden, ("next", trace.labels[i].text)]


def test_the_two_time_lines() -> None:
    training, writing = flow(opened(PAGE, mask_trial="All at once or one by one"), "Training")
    labels = [token.text for token in engine.trace("I ate an apple").labels]
    assert training == ["Training:", f"1 run {' '.join(labels)} all {len(labels)} rows at once"]
    inputs = ["1 input", *(f"{n} inputs" for n in range(2, len(labels) + 1))]
    runs = [f"{text} run {n}, sees {inputs[n - 1]}" for n, text in enumerate(labels, 1)]
    assert writing == ["Writing:", *(one for run in runs for one in ("→", run))]


def test_what_training_minimises() -> None:
    page, trace = at(mask_trial="All at once or one by one"), engine.trace(SENTENCE)
    labels = [token.id for token in trace.labels]
    losses = -np.log(softmax(trace.tensors["logits"])[np.arange(len(labels)), labels])
    rows = table(page, "row", "right piece")
    assert [row[1] for row in rows] == [token.text for token in trace.labels]
    assert [float(row[3]) for row in rows] == pytest.approx(losses.tolist(), abs=5.1e-5)
    assert f"The sum over all {len(losses)} rows is **{losses.sum():.4f}**." in markdown(page)


def test_lifting_the_causal_mask_shows_the_future() -> None:
    page = at()
    before, after = values(page, "do_before"), values(page, "do_after")
    length = len(before)
    future = np.triu_indices(length, 1)
    assert (before[future] == 0).all()
    assert (after[future] > 0).all()
    np.testing.assert_allclose(after.sum(-1), 1, atol=1e-5)
    trace = engine.trace(SENTENCE)
    labels = [t.id for t in trace.labels]
    change = Interventions(causal_mask_off=True).compile(trace.model.anatomy)
    lifted = forward(trace.model, trace.src_ids, trace.tgt_ids, change)
    logits = trace.tensors["logits"], lifted["logits"]
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
