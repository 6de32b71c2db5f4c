"""The lesson on Add & Norm: the deep stack, two norms on one batch, its questions."""

import json
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional

from experiments.blocks.deep_stack import JOINTS, deep_run
from experiments.writing.examples import example_sentences
from tests.oracle.forward import Forward, source_ids
from tests.pages.kit import ROOT, component, markdown, numbers_in, opened, size, table, values, verdict
from ui import engine
from ui.views.attention_kinds import READABLE

PAGE = ROOT / "pages" / "blocks" / "add_and_norm.py"
SENTENCE = "My dog likes the rain."
OTHERS = example_sentences(engine.model())
PLACES = [
    ("Encoder", 1, "after self-attention", "encoder.layers.0.add_norm_1.sum"),
    ("Encoder", 3, "after feed-forward", "encoder.layers.2.add_norm_2.sum"),
    ("Decoder", 2, "after encoder-decoder attention", "decoder.layers.1.add_norm_2.sum"),
]


def rows(sentence: str, name: str) -> torch.Tensor:
    run = Forward(source_ids(sentence), [token.id for token in engine.trace(sentence).labels])
    return torch.tensor(run[name])


def at(stack: str, layer: int, after: str, **others: str) -> AppTest:
    return opened(PAGE, **({"stack": stack, "layer": str(layer), f"add_norm_{stack.lower()}": after} | others))


def seen(app: AppTest) -> str:
    """The tensor that See shows."""
    (key,) = (e.key for e in app.get("bidi_component") if e.key.startswith("see_"))
    return component(app, key)["csv_name"]


@pytest.mark.parametrize(("stack", "layer", "after", "name"), PLACES)
def test_two_norms_in_two_batches(stack: str, layer: int, after: str, name: str) -> None:
    own = rows(SENTENCE, name)
    batches = [torch.cat([own, *(rows(other, name) for other in OTHERS[i : i + 3])]) for i in (0, 3)]
    both = [functional.batch_norm(batch, None, None, training=True)[: len(own)].numpy() for batch in batches]
    app = at(stack, layer, after, sentence=SENTENCE, norm_kind="Batch norm: per feature")
    columns = [int(name) - 1 for name in component(app, "do_before")["columns"]]
    for side, true in zip(("do_before", "do_after"), both, strict=True):
        assert np.allclose(values(app, side), true[:, columns], atol=1e-3)
    change = np.abs(both[0] - both[1])
    assert change.max(0)[columns].min() >= np.sort(change.max(0))[-len(columns)] - 1e-3
    said = re.search(r"in the two batches: \*\*(.*?)\*\*", markdown(app))
    assert said
    assert size(said[1]) == pytest.approx(change.max(), abs=1e-3)

    app = at(stack, layer, after, sentence=SENTENCE, norm_kind="Layer norm: per word")
    true = functional.layer_norm(own, own.shape[-1:]).numpy()
    assert np.allclose(values(app, "do_before"), true[:, [int(n) - 1 for n in component(app, "do_before")["columns"]]],
                       atol=1e-3)  # fmt: skip
    assert np.array_equal(values(app, "do_before"), values(app, "do_after"))


def test_which_means_and_deviations_become_0_and_1() -> None:
    name = PLACES[1][3]
    whole = torch.cat([rows(s, name) for s in (SENTENCE, *OTHERS[:3])])
    app = at("Encoder", 3, "after feed-forward", sentence=SENTENCE)
    expected = [
        whole,
        functional.layer_norm(whole, whole.shape[-1:]),
        functional.batch_norm(whole, None, None, training=True),
    ]
    for (_, *cells), true in zip(table(app, "the first batch"), expected, strict=True):
        shown = [numbers_in(cell) for cell in cells]
        wanted = [f for axis in (1, 0) for f in (true.mean(axis), true.std(axis, correction=0))]
        for cell, numbers in zip(shown, wanted, strict=True):
            assert cell[0] == pytest.approx(float(numbers.min()), abs=0.006)
            assert cell[-1] == pytest.approx(float(numbers.max()), abs=0.006)
    assert f"over the {len(whole)} pieces and {whole.shape[1]} features" in markdown(app)


def test_a_sentence_of_the_examples_does_not_stand_beside_itself() -> None:
    name = PLACES[1][3]
    others = [sentence for sentence in OTHERS if sentence != OTHERS[1]][:3]
    count = sum(len(rows(sentence, name)) for sentence in (OTHERS[1], *others))
    assert f"over the {count} pieces" in markdown(at("Encoder", 3, "after feed-forward", sentence=OTHERS[1]))


@pytest.mark.parametrize(("depth", "draw"), [("2", ""), ("24", "3"), ("", "")])
def test_the_deep_stack(depth: str, draw: str) -> None:
    app = opened(PAGE, **{key: text for key, text in (("depth", depth), ("draw", draw)) if text})
    n, seed = int(depth or 24), int(draw or 0)
    (chart,) = (json.loads(c.proto.spec) for c in app.get("plotly_chart") if c.key == "gradients")
    runs = {joint: deep_run(joint, n, seed) for joint in JOINTS}
    for line in chart["data"]:
        assert line["y"] == pytest.approx(runs[line["name"]].gradients, rel=1e-6)
    for joint, gradient, alike in table(app, "build"):
        run = runs[joint]
        assert size(gradient.replace(",", "")) == pytest.approx(
            run.gradients[0], rel=0.06, abs=5e-4 if "·" not in gradient else 0
        )
        assert float(alike.replace("−", "-")) == pytest.approx(run.alike[min(3, n)], abs=0.006)


@pytest.mark.parametrize("draw", ["9", "-1", "x", "99999", ""])
def test_weights_that_are_not_there_are_the_first(draw: str) -> None:
    def chart(**parameters: str) -> list[float]:
        (found,) = (json.loads(c.proto.spec) for c in opened(PAGE, **parameters).get("plotly_chart")
                    if c.key == "gradients")  # fmt: skip
        return found["data"][0]["y"]

    assert chart(draw=draw) == chart()


def test_other_weights_by_a_button() -> None:
    app = opened(PAGE)
    (button,) = (b for b in app.button if b.label == "Draw other random weights")
    button.click().run()
    assert app.query_params["draw"] == "1"
    for _ in range(8):
        next(b for b in app.button if b.label == "Draw other random weights").click().run()
    assert "draw" not in app.query_params


def test_each_stack_keeps_its_own_choice() -> None:
    app = at("Decoder", 2, "after encoder-decoder attention")
    app.button_group(key="stack").set_value("Encoder").run()
    assert not app.exception
    assert seen(app) == "encoder.layers.1.add_norm_2.output"


def test_empty_addresses_have_their_defaults() -> None:
    app = opened(PAGE, stack="", layer="", add_norm_encoder="", norm_step="", norm_kind="", depth="", sentence=SENTENCE)
    assert seen(app) == "encoder.layers.2.add_norm_2.output"
    assert component(app, "do_after")["csv_name"].startswith("Batch norm")


def test_a_long_sentence_is_cut_and_it_is_said() -> None:
    app = opened(PAGE, sentence="My neighbour's cat sleeps. " * 30)
    assert f"Shown: the first {READABLE} of 101 rows" in markdown(app)
    assert values(app, "do_after").shape[0] == READABLE


@pytest.mark.parametrize(("stack", "layer", "after", "name"), PLACES)
def test_the_questions_are_graded_against_the_numbers(stack: str, layer: int, after: str, name: str) -> None:
    app = at(stack, layer, after, sentence=SENTENCE)
    assert f"{rows(SENTENCE, name).std(1, correction=0).max():.2f}" in app.radio[0].proto.label + markdown(app)
    assert app.radio[0].options[0] == "mean 0, deviation 1"
    wanted = 0, 0, 2 if deep_run("neither", 24).gradients[0] < 1e-5 else 1
    for n, right in enumerate(wanted, 1):
        assert verdict(app, n, right).startswith("Right.")
