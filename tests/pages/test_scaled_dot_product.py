"""The lesson on scaled dot-product attention: the decks' example, the scale, its questions."""

import re

import numpy as np
import pytest

from tests.oracle.forward import Forward, source_ids
from tests.pages.kit import ROOT, component, markdown, opened, table, values
from ui import engine

PAGE = ROOT / "pages" / "attention" / "scaled_dot_product.py"
SENTENCE = "The black cat fights the white cat."
KINDS = {"Encoder": "encoder.layers.1.self_attn", "Masked decoder": "decoder.layers.1.self_attn",
         "Encoder-decoder": "decoder.layers.1.cross_attn"}  # fmt: skip


def oracle(scale_off: bool = False) -> Forward:
    return Forward(source_ids(SENTENCE), [t.id for t in engine.trace(SENTENCE).labels], scale_off=scale_off)


def test_thinking_machines_comes_out_as_in_the_decks() -> None:
    text = markdown(opened(PAGE))
    assert "the products are 112 and 96" in text
    assert "8 they are 14 and 12" in text
    assert "**0.88** and **0.12**" in text


@pytest.mark.parametrize("kind", list(KINDS))
def test_without_the_scale(kind: str) -> None:
    app = opened(PAGE, sentence=SENTENCE, attention=kind, layer="2", head="3", scale_off="true")
    before, after = (run[f"{KINDS[kind]}.weights"][2] for run in (oracle(), oracle(scale_off=True)))
    assert np.allclose(values(app, "do_before"), before, atol=1e-4)
    assert np.allclose(values(app, "do_after"), after, atol=1e-3)
    measures = table(app, "on average over the rows", "with the scale", "without it")
    for (name, *said), digits in zip(measures, (2, 2, 3), strict=True):
        for shown, weights in zip(map(float, said), (before, after), strict=True):
            true = {
                "entropy": -(weights * np.log2(np.where(weights > 0, weights, 1))).sum(-1).mean(),
                "largest": weights.max(-1).mean(),
                "steepest": (weights * (1 - weights)).max(-1).mean(),
            }[re.split("[, ]", name)[0]]
            assert abs(shown - true) < 0.51 * 10.0**-digits


def test_the_scale_is_on_until_it_is_switched_off() -> None:
    app = opened(PAGE)
    assert not [e.key for e in app.get("bidi_component") if e.key == "do_after"]
    app.toggle(key="scale_off").set_value(True).run()
    assert component(app, "do_after")["limit"] == component(app, "do_before")["limit"] == 1


def test_the_questions_are_graded_against_the_numbers() -> None:
    app = opened(PAGE, sentence=SENTENCE, attention="Encoder", layer="2", head="3")
    before, after = (run[f"{KINDS['Encoder']}.weights"][2] for run in (oracle(), oracle(scale_off=True)))
    row = len(before) // 2
    largest, scale = (radio.key for radio in app.radio)
    options = app.radio(key=largest).options
    change = after[row].max() - before[row].max()
    wanted = {
        largest: next(i for i, o in enumerate(options) if o.endswith(f"(piece {before[row].argmax() + 1})")),
        scale: 0 if change > 0.005 else 2 if change < -0.005 else 1,
    }
    for box in app.checkbox:
        if box.key.endswith(("/1", "/3")):
            app.checkbox(key=box.key).check()
    app.run()
    poll = app.checkbox[0].key.rpartition("/")[0]
    app.button(key=f"{poll}/check").click().run()
    for key, right in wanted.items():
        app.radio(key=key).set_value(right)
        app.run()
        app.button(key=f"{key}/check").click().run()
    assert len(app.success) == 3
    assert not app.warning
