"""The lesson on encoder-decoder attention: another German that is one click away, and the way back."""

import numpy as np
import pytest

from tests.oracle.passes.forward import EOS, Forward, source_ids, tokenizer
from tests.pages.kit import markdown, opened, values

PAGE = "encoder-decoder-attention"
CATS = "The black cat fights the white cat."  # its German has words of several pieces


@pytest.mark.parametrize("label", ["Another tense", "Another order", "A wrong translation", "French"])
def test_pairs_are_one_click_away(label: str) -> None:
    app = opened(PAGE, cell="3.3")
    app.button(key=f"offer_{label}").click().run()
    german = app.text_input(key="german").value
    assert german
    assert "cell" not in app.query_params
    if german != "Das Haus ist rot.":
        assert f"**{app.text_input(key='sentence').value}**".replace(".", r"\.") in markdown(app)
    labels = [*tokenizer().encode(german, add_special_tokens=False).ids, EOS]
    run = Forward(source_ids(app.text_input(key="sentence").value), labels)
    np.testing.assert_allclose(values(app, "do_after"), run["decoder.layers.2.cross_attn.weights"][0], atol=1e-5)


def test_ones_own_sentence_comes_back() -> None:
    app = opened(PAGE, sentence=CATS, german="Katzen.")
    assert not [b for b in app.button if b.label == "Back to my own sentence"]
    app.button(key="offer_Another tense").click().run()
    app.button(key="offer_French").click().run()
    assert "The sentence at the top is now **I ate an apple**" in markdown(app)
    next(b for b in app.button if b.label == "Back to my own sentence").click().run()
    assert [app.text_input(key=key).value for key in ("sentence", "german")] == [CATS, "Katzen."]
    assert not [b for b in app.button if b.label == "Back to my own sentence"]
    app.button(key="offer_French").click().run()
    app.text_input(key="sentence").input("Go").run()
    assert not [b for b in app.button if b.label == "Back to my own sentence"]
