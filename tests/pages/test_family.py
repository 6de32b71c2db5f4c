"""The app's own GPT and BERT on the pages: where they can be drawn they are, and elsewhere nothing breaks."""

from functools import partial

import numpy as np
import pytest

from hub import open_models
from model.files import loaded_model
from model.files.model_card import Example
from model.kept import Kept
from tests.family import FAMILY, small
from tests.pages.kit import ROOT, component, notices, opened, values
from ui import engine
from ui.course.lesson import COURSE

BERTVIZ, COMPARE = (ROOT / "pages" / "explore" / name for name in ("bertviz.py", "compare.py"))
SENTENCE = "The cat sat on the mat."


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones with random weights, as if they came with the app."""
    known = (*loaded_model.model_names(), *FAMILY)
    monkeypatch.setattr(loaded_model, "model_names", lambda *_: known)
    monkeypatch.setattr(open_models, "model_names", lambda: known)
    models = Kept(10**9)
    monkeypatch.setattr(engine, "_models", models)
    for name in FAMILY:
        models.get(name, partial(small, name))
    monkeypatch.setattr(engine, "_results", Kept(10**8))


@pytest.mark.usefixtures("family")
@pytest.mark.parametrize(("name", "kind"), [("gpt-mini", "decoder"), ("bert-mini", "encoder")])
def test_bertviz_draws_them(name: str, kind: str) -> None:
    app = opened(BERTVIZ, sentence=SENTENCE, drawn=name, layer="2", head="3")
    weights = engine.trace(SENTENCE, name=name).attention(kind, 1)[2]
    assert np.allclose(values(app, "pair"), weights[:40, :40], atol=1e-5)


def test_without_them_bertviz_asks_for_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "model_names", lambda: ("translator",))
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


READS = ("three-kinds", "gpt", "fill-in-the-blank", "pairs", "fine-tuning")


@pytest.mark.parametrize("slug", READS)
@pytest.mark.parametrize(
    ("sentence", "says"),
    [("Les enfants jouent souvent dans leur jardin.", "another language"), ("?! 12", "no words in this text")],
)
def test_another_language_is_said_of_the_models_of_the_lesson(slug: str, sentence: str, says: str) -> None:
    (said,) = [text for text in notices(opened(slug, sentence=sentence)) if says in text]
    assert ("BERT" in said) == (slug != "gpt")
    assert ("GPT" in said) == (slug != "pairs")
    assert ("the translator" in said) == (slug == "three-kinds")


@pytest.mark.parametrize("slug", READS)
def test_a_text_of_five_hundred_words_is_cut_and_drawn(slug: str) -> None:
    app = opened(slug, sentence="one day he ran " * 125)
    assert [text for text in notices(app) if "longer than the model can take" in text]
    assert component(app, "scene")["frames"] if COURSE.lesson(slug).on_map.scene else component(app, "here")["panels"]


def test_without_a_sentence_a_lesson_says_so_and_one_that_reads_none_goes_on() -> None:
    assert [text for text in notices(opened("gpt", sentence=" ")) if text.startswith("There is nothing to read yet")]
    assert notices(opened("learning-without-learning", sentence=" ")) == []


@pytest.mark.parametrize("example", engine.model("gpt-mini").about.examples, ids=lambda one: one.label)
def test_bert_guesses_the_hidden_word_of_an_example_and_surer_than_gpt(example: Example) -> None:
    app = opened("fill-in-the-blank", sentence=example.sentence)
    (said,) = [one.value for one in app.markdown if one.value.startswith("The hidden piece is")]
    assert ("BERT ranks it **1** " in said) == bool(example.says)
    assert example.says in said
    assert "BERT finds it" in said  # likelier than GPT does


@pytest.mark.parametrize(
    "sentence", ["I ate an apple", *(one.sentence for one in engine.model("gpt-mini").about.examples)]
)
def test_a_text_that_goes_on_is_likelier_than_one_from_elsewhere(sentence: str) -> None:
    """The pairs that the lesson opens with work on the model that comes with the app."""
    frames = component(opened("pairs", sentence=sentence), "scene")["frames"]
    likely, unlikely = (frame["rows"][0][0]["bars"][0][1] for frame in frames[:2])
    assert likely > unlikely + 0.1
