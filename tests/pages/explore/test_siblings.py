"""The view of two siblings, with random ones in place of those trained: hidden without them, claimed with them."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from experiments.training.siblings import METRICS, SPEED, load_siblings
from model.build import build_model
from model.config import PRESETS
from model.files import checkpoint
from model.files.loaded_model import MODELS, load_model, sibling_names
from model.files.model_card import FILE
from tests.oracle.language.page import Page
from tests.oracle.language.walk import State, claims_of, unclaimed
from tests.oracle.shown import siblings as oracle
from tests.pages.kit import ROOT, markdown, opened
from ui import engine
from ui.views import siblings as view

PARTS = {
    "activation-swiglu": {"activation": "swiglu"},
    "norm-rms": {"norm": "rms", "norm_place": "pre"},
    "plain-1": {},
    "plain-2": {},
    "positions-learned": {"positions": "learned"},
    "positions-relative": {"positions": "relative"},
}
# Made up: loss, BLEU, and the loss by position. The plain ones differ by 0.02 and 0.05.
FIGURES = {
    "activation-swiglu": (1.75, 40.0, (1.5, 5.0)),
    "norm-rms": (2.1251, 36.6249, (1.5, 5.0)),
    "plain-1": (1.75, 37.0, (1.5, 5.0)),
    "plain-2": (1.77, 37.05, (1.25, 5.75)),
    "positions-learned": (1.97, 36.45, (1.0, None)),
    "positions-relative": (1.5, 37.75, (2.0, 4.5)),
}
BESIDE = ("positions-none", "positions-rotary", "positions-alibi")  # that a first screen reads, as they are shipped
PAGES = {"positions": "positions-six-ways", "activation": "activations-and-gates", "norm": "where-to-normalise"}
LONG = "The cat sleeps, and the dog eats. " * 12
HEADING = "Two trained siblings side by side"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: the four siblings, and the translator, which is none."""
    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    for name, parts in PARTS.items():
        config = replace(PRESETS["sibling"], **parts)  # type: ignore[arg-type]
        checkpoint.save(root / name, config, checkpoint.load_tokenizer(), build_model(config).state_dict())
        (root / name / FILE).write_text('{"title": "a sibling"}')
        loss, bleu, (near, far) = FIGURES[name]
        figures = {
            "training": {"validation_loss": loss},
            "test": {"greedy": {"bleu": bleu, "chrf": 50.0, "sentences": 1234}},
            "parameters": sum(w.numel() for w in build_model(config).parameters()),
            "longer": {"loss": {"1–20": near, "97–128": far}},
        }
        (root / name / METRICS).write_text(json.dumps(figures))
    (root / SPEED).write_text(json.dumps({"ratios": {"plain-1": 1.0, "norm-rms": 0.876, "nobody": 3.0}}))
    (root / "translator").symlink_to(checkpoint.SHIPPED)
    for name in BESIDE:
        (root / name).mkdir()
        for file in (checkpoint.CONFIG, checkpoint.WEIGHTS):
            (root / name / file).symlink_to(MODELS / name / file)
    return root


def forget() -> None:
    """Those of this file have names of shipped ones: neither may be taken for the other."""
    for cache in (engine._models, engine._results):
        cache.clear()
    oracle.weights_of.cache_clear()
    oracle.translated.cache_clear()


@pytest.fixture
def shown(models: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(view, "names", lambda: sibling_names(models))
    monkeypatch.setattr(view, "measured", lambda: load_siblings(models))
    monkeypatch.setattr(engine, "load_model", lambda name: load_model(name, MODELS if name in BESIDE else models))
    monkeypatch.setattr(oracle, "MODELS", models)
    forget()
    yield
    forget()


def test_siblings_are_found_by_their_sizes(models: Path) -> None:
    assert sibling_names(models) == tuple(PARTS)


def lesson(part: str) -> ModuleType:
    module = claims_of(PAGES[part])
    assert module
    return module


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("part", PAGES)
def test_what_is_shown_of_them_is_claimed(part: str) -> None:
    states: tuple[State, ...] = (
        {"sentence": "Go"},
        {f"{part}_sibling_1": "norm-rms", f"{part}_sibling_2": "activation-swiglu", "sibling_map": "Encoder-decoder"},
        {f"{part}_sibling_1": "positions-learned", f"{part}_sibling_2": "plain-2", "sentence": LONG},
    )
    for state in states:
        app = opened(PAGES[part], **state)
        assert HEADING in [one.value for one in app.subheader]
        assert not unclaimed(app, lesson(part), Page(PAGES[part], state))


@pytest.mark.usefixtures("shown")
def test_a_sibling_that_there_is_not_is_the_first(models: Path) -> None:
    app = opened(PAGES["norm"], norm_sibling_1="../translator", norm_sibling_2="<b>", sentence="Go")
    assert [box.value for box in app.selectbox] == ["plain-1", "norm-rms"]


@pytest.mark.usefixtures("shown")
def test_what_chance_explains_is_marked_and_the_best_comes_first() -> None:
    """By hand: the plain ones have 1.75 and 1.77, 37 and 37.05. One more lies within 12.706 · 0.02/√2 · √1.5 = 0.220 of
    the mean of 1.76, and within 0.550 of 37.025.
    """
    page = "\n".join(one.value for one in opened(PAGES["positions"], sentence="Go").html)
    rows = re.findall(r"<tr><td>((?:plain|positions)-\w+)</td><td>(.+?)</td></tr>", page)
    cells = [[name, *text.split("</td><td>")] for name, text in rows if text.count("<td>") == 5]
    assert [row[:5] for row in cells] == [
        ["positions-relative", "1.500", "−0.260", "37.8", "+0.7"],
        ["plain-1", "1.750", "", "37.0", ""],
        ["plain-2", "1.770", "", "37.0", ""],
        ["positions-learned", "1.970", "+0.210, noise", "36.5", "−0.6"],
    ]
    assert [row[5] for row in cells] == ["", "1.00 ×", "", ""]


@pytest.mark.usefixtures("shown")
def test_all_are_on_the_page_about_the_model() -> None:
    app = opened(ROOT / "pages" / "about.py")
    module = claims_of("about")
    assert module
    assert not unclaimed(app, module, Page("about", {}))
    page = "\n".join(one.value for one in app.html)
    names = re.findall(r"<tr><td>((?:plain|positions|norm|activation)-\w+)</td>", page)
    assert sorted(names) == list(PARTS)
    assert "In BLEU: **positions-relative**, **activation" in markdown(app).replace("\\", "")


@pytest.mark.usefixtures("shown")
def test_damaged_figures_are_one_sentence(models: Path) -> None:
    file = models / "plain-2" / METRICS
    text = file.read_text()
    try:
        for damaged in (
            "",
            "[]",
            "{}",
            text.replace("37.05", '"many"'),
            text.replace("longer", "shorter"),
        ):
            file.write_text(damaged)
            app = opened(PAGES["positions"], sentence="Go")
            said = [one.value for one in app.caption if METRICS in one.value.replace("\\", "")]
            assert len(said) == 2, "in the table's place and in the chart's"
    finally:
        file.write_text(text)


@pytest.mark.parametrize("known", [(), ("plain-1",)])
def test_without_two_nothing_is_shown(known: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "names", lambda: known)
    app = opened(PAGES["norm"], sentence="Go")
    assert HEADING not in [one.value for one in app.subheader]
    assert not app.selectbox


def test_the_address_opens_a_lesson_on_a_sibling_and_on_a_step_of_its_training() -> None:
    for name in ("plain-1", "plain-1@400"):
        app = opened("masking", model=name, sentence="Go")
        assert "1.9\u00a0M parameters" in app.html[0].value
        assert not app.info
    (said,) = opened("masking", model="plain-1@501", sentence="Go").info
    assert said.value.replace("\\", "") == (
        "There are no weights of plain-1 at step '501'; there are 0, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, "
        "5000, 6000. The translator is shown instead."
    )
