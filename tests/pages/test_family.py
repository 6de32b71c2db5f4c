"""The app's own GPT and BERT on the pages: where they can be drawn they are, and elsewhere nothing breaks."""

import numpy as np
import pytest

from hub import shelf
from model import loaded
from tests.family import FAMILY, small
from tests.pages.kit import ROOT, notices, opened, values
from ui import engine

BERTVIZ, COMPARE = (ROOT / "pages" / "explore" / name for name in ("bertviz.py", "compare.py"))
SENTENCE = "The cat sat on the mat."


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones with random weights, as if they came with the app."""
    known = (*loaded.model_names(), *FAMILY)
    monkeypatch.setattr(loaded, "model_names", lambda *_: known)
    monkeypatch.setattr(shelf, "model_names", lambda: known)
    monkeypatch.setattr(engine, "_models", {**engine._models, **{name: small(name) for name in FAMILY}})
    monkeypatch.setattr(engine, "_results", {})


@pytest.mark.usefixtures("family")
@pytest.mark.parametrize(("name", "kind"), [("gpt-mini", "decoder"), ("bert-mini", "encoder")])
def test_bertviz_draws_them(name: str, kind: str) -> None:
    app = opened(BERTVIZ, sentence=SENTENCE, drawn=name, layer="2", head="3")
    weights = engine.trace(SENTENCE, name=name).attention(kind, 1)[2]
    assert np.allclose(values(app, "pair"), weights[:40, :40], atol=1e-5)


def test_without_them_bertviz_asks_for_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "model_names", lambda: ("translator",))
    assert "drawn" not in {group.key for group in opened(BERTVIZ, sentence=SENTENCE).button_group}


@pytest.mark.usefixtures("family")
def test_compare_shows_them_side_by_side() -> None:
    app = opened(COMPARE, sentence=SENTENCE, left_model="gpt-mini", right_model="bert-mini", left_map="1.1")
    weights = engine.trace(SENTENCE, name="gpt-mini").attention("decoder", 0)[0]
    assert np.allclose(values(app, "left_map"), weights, atol=1e-5)


@pytest.mark.usefixtures("family")
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("slug", ["scaled-dot-product", "inference"])
def test_a_model_that_translates_nothing_is_no_model_for_a_lesson(name: str, slug: str) -> None:
    app = opened(slug, sentence=SENTENCE, model=name)
    (said,) = [text for text in notices(app) if "translates nothing" in text]
    assert said.endswith("translates nothing. The translator is shown instead.")
