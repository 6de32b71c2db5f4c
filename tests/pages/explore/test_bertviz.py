"""The page with BertViz's views: this sentence's own weights, and query times key from the oracle's numbers."""

import json
import re

import numpy as np
import pytest

from tests.oracle.passes.forward import Forward, source_ids
from tests.pages.kit import ROOT, assert_sound, component, markdown, opened, values
from ui import engine

PAGE = ROOT / "pages" / "explore" / "bertviz.py"
SENTENCE = "The black cat fights the white cat."


def view(app) -> str:
    (frame,) = app.get("iframe")
    return frame.proto.srcdoc


def given(page: str) -> dict:
    """What BertViz was given to draw."""
    (found,) = re.findall(r"const params = (\{.*\});", page)
    return json.loads(found)["attention"][0]


@pytest.fixture(scope="module")
def oracle() -> Forward:
    return Forward(source_ids(SENTENCE), [token.id for token in engine.trace(SENTENCE).labels])


@pytest.mark.parametrize("shown", ["Head view", "Model view"])
@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("Encoder", "encoder.layers.{}.self_attn"),
        ("Masked decoder", "decoder.layers.{}.self_attn"),
        ("Encoder-decoder", "decoder.layers.{}.cross_attn"),
    ],
)
def test_both_views_hold_the_weights_of_every_head(label: str, path: str, shown: str, oracle: Forward) -> None:
    trace = engine.trace(SENTENCE)
    for chosen in range(3):
        data = given(view(opened(PAGE, sentence=SENTENCE, attention=label, bertviz=shown, layer=str(chosen + 1))))
        layers = [chosen] if shown == "Head view" else [0, 1, 2]
        assert len(data["attn"]) == len(layers)
        for layer, maps in zip(layers, data["attn"], strict=True):
            assert np.allclose(maps, oracle[f"{path.format(layer)}.weights"], atol=2e-4)
        assert data["right_text"] == [t.text for t in (trace.tgt if label == "Masked decoder" else trace.src)]


def test_query_times_key_number_by_number(oracle: Forward) -> None:
    app = opened(PAGE, sentence=SENTENCE, attention="Encoder", layer="2", head="3", cell="4.2", order="by dimension")
    q, k = (oracle[f"encoder.layers.1.self_attn.{what}"][2, place] for what, place in (("q", 3), ("k", 1)))
    shown = values(app, "elements")
    assert np.allclose(shown, [q, k, q * k], atol=1e-4)
    sums = [float(n.replace("−", "-")) for n in re.findall(r"make (−?[\d.]+)", markdown(app))]
    assert np.allclose(sums, [(q * k)[q * k > 0].sum(), (q * k)[q * k < 0].sum()], atol=2e-3)
    app.segmented_control(key="order").set_value("largest products first").run()
    assert np.all(np.diff(np.abs(values(app, "elements")[2])) <= 1e-6)
    assert component(app, "elements")["columns"][0] == str(int(np.abs(q * k).argmax()) + 1)


@pytest.mark.parametrize(
    "sentence", ["Go", "ฉันชอบสุนัข", "</script><script>alert(1)</script>", "My neighbour's cat sleeps. " * 30]
)
def test_any_sentence(sentence: str) -> None:
    app = opened(PAGE, sentence=sentence)
    assert_sound(app)
    assert view(app).count("</script>") == 4
    assert len(given(view(app))["left_text"]) <= 40


def test_what_is_left_out_is_said() -> None:
    assert "Shown: the first 40 of 101 columns" in markdown(opened(PAGE, sentence="My neighbour's cat sleeps. " * 30))
