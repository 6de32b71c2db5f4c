"""The lesson on scaled dot-product attention: the decks' example, the scale, its questions."""

import re

import numpy as np
import pytest

from tests.oracle.forward import Forward, source_ids
from tests.pages.kit import component, flow, opened, table, values
from ui import engine

PAGE = "scaled-dot-product"
SENTENCE = "The black cat fights the white cat."
KINDS = {"Encoder": "encoder.layers.1.self_attn", "Masked decoder": "decoder.layers.1.self_attn",
         "Encoder-decoder": "decoder.layers.1.cross_attn"}  # fmt: skip


def oracle(scale_off: bool = False) -> Forward:
    return Forward(source_ids(SENTENCE), [t.id for t in engine.trace(SENTENCE).labels], scale_off=scale_off)


def test_thinking_machines_comes_out_as_in_the_decks() -> None:
    first, second, total = flow(opened(PAGE))
    assert first == ["q₁ Thinking", "·", "k₁ Thinking", "= 112 → 112 / √64 = 14 → share 0.88 of", "v₁ Thinking"]
    assert second == ["q₁ Thinking", "·", "k₂ Machines", "= 96 → 96 / √64 = 12 → share 0.12 of", "v₂ Machines"]
    assert total == ["Added up:", "z₁ 0.88 v₁ + 0.12 v₂"]


def test_before_training_the_slope_is_lost_without_the_scale() -> None:
    app = opened(PAGE, sentence=SENTENCE, layer="1", scale_model="The same model before training", scale_off="true")
    *_, (_, with_scale, without) = table(app, "on average over the rows")
    assert float(with_scale) > 2 * float(without)
    raw = engine.trace(SENTENCE, engine.trace(SENTENCE).translation, name="untrained")
    assert np.allclose(values(app, "do_before"), raw.attention("encoder", 0)[0], atol=1e-6)


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
