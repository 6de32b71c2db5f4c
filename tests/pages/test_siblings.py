"""The view of two siblings, with random ones in place of those trained: hidden without them, claimed with them."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from model import checkpoint
from model.about import FILE
from model.build import build_model
from model.config import PRESETS
from model.loaded import load_model, sibling_names
from tests.oracle import siblings as oracle
from tests.oracle.page import Page
from tests.oracle.walk import State, claims_of, unclaimed
from tests.pages.kit import markdown, opened
from ui import engine
from ui.views import siblings as view

PARTS = {
    "activation-swiglu": {"activation": "swiglu"},
    "norm-rms": {"norm": "rms", "norm_place": "pre"},
    "plain-1": {},
    "positions-relative": {"positions": "relative"},
}
PAGES = {"positions": "positions-six-ways", "activation": "activations-and-gates", "norm": "where-to-normalise"}
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
    (root / "translator").symlink_to(checkpoint.SHIPPED)
    return root


@pytest.fixture
def shown(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "names", lambda: sibling_names(models))
    monkeypatch.setattr(engine, "load_model", lambda name: load_model(name, models))
    monkeypatch.setattr(oracle, "MODELS", models)


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
    )
    for state in states:
        app = opened(PAGES[part], **state)
        assert HEADING in [one.value for one in app.subheader]
        assert not unclaimed(app, lesson(part), Page(PAGES[part], state))


@pytest.mark.usefixtures("shown")
def test_a_sibling_that_there_is_not_is_the_first(models: Path) -> None:
    app = opened(PAGES["norm"], norm_sibling_1="../translator", norm_sibling_2="<b>", sentence="Go")
    assert [box.value for box in app.selectbox] == ["plain-1", "norm-rms"]


@pytest.mark.parametrize("known", [(), ("plain-1",)])
def test_without_two_nothing_is_shown(known: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "names", lambda: known)
    app = opened(PAGES["norm"], sentence="Go")
    assert HEADING not in markdown(app)
    assert not app.selectbox


def test_the_address_opens_a_lesson_on_a_sibling_and_on_a_step_of_its_training() -> None:
    for name in ("plain-1", "plain-1@400"):
        app = opened("masking", model=name, sentence="Go")
        assert "1.9 M parameters" in app.html[0].value
        assert not app.info
    (said,) = opened("masking", model="plain-1@501", sentence="Go").info
    assert said.value.replace("\\", "") == (
        "There are no weights of plain-1 at step '501'; there are 0, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, "
        "5000, 6000. The translator is shown instead."
    )
