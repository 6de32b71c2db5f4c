"""The pages for other people's models: every family, bad models, hostile text, and two models side by side."""

import json
import re
import shutil
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hub import downloads
from hub.downloads import Offer, RemoteFile
from hub.export.folder import export
from model.files.checkpoint import CheckpointError
from processes import barriers
from tests.hub.small_models import FAMILIES, make
from tests.pages.kit import ROOT, assert_sound, component, markdown, notices, opened, table, values
from ui import engine

ANY, COMPARE = (ROOT / "pages" / "explore" / name for name in ("any_model.py", "compare.py"))
SENTENCE = "The black cat fights the white cat."
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)> **b** $x$",
    "\u202e\u0300\u200b🐶",
    "ฉันชอบสุนัข",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for family in FAMILIES:
        make(family, folder / family)
    export(folder / "ours")
    return folder


@pytest.fixture(autouse=True)
def _settings(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(root))
    monkeypatch.setenv("WALKTHROUGH_KEPT", "12")  # opened once for all tests


def warnings(app: AppTest) -> list[str]:
    return [e.value for e in app.warning]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_hostile_text_is_shown_as_text(family: str, text: str) -> None:
    app = opened(ANY, sentence=text, model=family, bertviz_too="true")
    assert warnings(app) == []
    (frame,) = app.get("iframe")
    assert frame.proto.srcdoc.count("</script>") == 4
    assert "<script>" not in markdown(app)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no-such-model", "Downloads are switched off"),
        ("../../etc", "A model's name is"),
        ("<script>alert(1)</script>", "A model's name is"),
        ("a" * 5000, "A model's name is"),
        ("bare", "holds no weights"),
        ("pickled", "pickle"),
        ("picture", "not a language model"),
        ("half", "are missing"),
        ("panics", "The library that reads the model fails"),
    ],
)
def test_a_bad_model_gets_one_clear_sentence(name: str, says: str, root: Path) -> None:
    for bad in ("bare", "pickled", "half", "panics"):
        shutil.copytree(root / "bert", root / bad, dirs_exist_ok=True)
        if bad != "panics":
            (root / bad / "model.safetensors").unlink(missing_ok=True)
    tokenizer = json.loads((root / "bert" / "tokenizer.json").read_text())
    rubbish = {"type": "Precompiled", "precompiled_charsmap": b64encode(bytes(64)).decode()}
    (root / "panics" / "tokenizer.json").write_text(json.dumps(tokenizer | {"normalizer": rubbish}))
    (root / "pickled" / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    shutil.copy(root / "gpt2" / "model.safetensors", root / "half" / "model.safetensors")
    shutil.copytree(root / "bert", root / "picture", dirs_exist_ok=True)
    (root / "picture" / "config.json").write_text('{"model_type": "vit"}')
    app = opened(ANY, sentence=SENTENCE, model=name)
    (warning,) = warnings(app)
    assert says.replace("'", r"\'") in warning or says in warning.replace("\\", "")
    folds = [fold.label for fold in app.expander]
    assert ("What the library says" in folds) == (name == "panics")
    app.selectbox(key="model_box").set_value("gpt2").run()  # the app goes on
    assert_sound(app)
    assert warnings(app) == []
    for bad in ("bare", "pickled", "half", "panics", "picture"):
        shutil.rmtree(root / bad)


@pytest.mark.parametrize("page", [ANY, COMPARE])
def test_where_strangers_models_cannot_be_shut_in_the_page_says_so(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barriers, "missing", lambda: ("files",))
    for said, begins in (
        ("", "Only the app's own models open here"),
        ("yes", "Other people's models open here although"),
    ):
        monkeypatch.setenv("WALKTHROUGH_UNCONFINED", said)
        (told,) = warnings(opened(page, sentence=SENTENCE, model="this translator", right_model="this translator"))
        assert told.startswith(begins)
        assert "lacks a ban on reading other files (Landlock)" in told


def test_without_models_the_page_shows_our_own_and_says_how_to_add_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(tmp_path))
    app = opened(ANY, sentence=SENTENCE, map="3.2")
    assert app.selectbox(key="model_box").options == ["this translator", "gpt-mini", "bert-mini"]
    text = markdown(app)
    assert "python -m hub.export" in text
    assert "WALKTHROUGH_MODELS" in text
    trace = engine.trace(SENTENCE)
    assert "**this translator** is an **encoder-decoder**" in text
    assert f"The model writes: **{trace.translation.replace('.', chr(92) + '.')}**" in text
    assert np.allclose(values(app, "map"), trace.attention("encoder", 2)[1], atol=1e-5)
    assert app.expander[0].proto.expanded is False


def test_with_models_the_first_of_them_opens(root: Path) -> None:
    app = opened(ANY, sentence=SENTENCE)
    options = app.selectbox(key="model_box").options
    assert options[:4] == ["this translator", "gpt-mini", "bert-mini", "albert"]
    assert app.selectbox(key="model_box").value == "albert"
    assert "**albert** is an **encoder**" in markdown(app)


def test_two_models_on_one_sentence(root: Path) -> None:
    app = opened(COMPARE, sentence=SENTENCE, right_model="ours", left_map="2.3")
    assert "Both sides have the same pieces" in markdown(app)
    assert re.search(r"layer 2, head 3 is most like layer 2, head 3 of the first: \*\*1\.000", markdown(app))
    app.button(key="show_partner").click().run()
    assert_sound(app)
    assert app.query_params["right_map"] == "2.3"
    assert np.allclose(values(app, "left_map"), values(app, "right_map"), atol=1e-5)


def test_a_listed_pair_is_shown_by_a_click() -> None:
    app = opened(COMPARE, sentence=SENTENCE, left_model="this translator", right_model="gpt2")
    number, one, two, alike = next(row for row in table(app, "", "first", "second") if row[1] != row[2])
    app.button(key=f"show_pair{number}").click().run()
    assert_sound(app)
    titles = [component(app, f"{side}_map")["title"] for side in ("left", "right")]
    assert one in titles[0]
    assert two in titles[1]
    assert table(app, "a row looks at")[-1][-1] == alike


def test_one_model_opens_on_two_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(tmp_path))
    examples = [example.sentence for example in engine.model().about.examples]
    for typed, other in ((SENTENCE, examples[0]), (examples[0], examples[1]), (examples[1], examples[0])):
        app = opened(COMPARE, sentence=typed)
        assert app.text_input(key="second").placeholder == other
        assert values(app, "left_map").shape != values(app, "right_map").shape
        assert "different pieces here" in markdown(app)
        assert component(app, "right_map")["rows"][:-1] == [t.text for t in engine.trace(other).src][:-1]
    app.text_input(key="second").set_value(examples[1]).run()  # whoever wants the same can have it
    assert np.array_equal(values(app, "left_map"), values(app, "right_map"))
    app.selectbox(key="right_model_box").set_value("untrained").run()
    app.text_input(key="second").set_value("").run()
    assert_sound(app)
    assert app.text_input(key="second").placeholder == examples[1]  # another model reads the same
    assert component(app, "left_map")["rows"] == component(app, "right_map")["rows"]
    assert not np.allclose(values(app, "left_map"), values(app, "right_map"), atol=0.01)


def test_an_own_model_that_is_half_there_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise CheckpointError("The model file x is missing; run y.")

    monkeypatch.setattr(engine, "trace", broken)
    app = opened(COMPARE, sentence=SENTENCE, right_model="gpt2")
    (warning,) = warnings(app)
    assert "is missing" in warning


def test_a_side_that_cannot_be_opened_says_so() -> None:
    app = opened(COMPARE, sentence=SENTENCE, right_model="../secret")
    (warning,) = warnings(app)
    assert "name" in warning


def test_before_a_model_is_fetched_its_size_is_said_in_megabytes_of_a_million_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "somebody/a-model-not-here"
    files = {"model.safetensors": 1_234_500_000, "config.json": 67_000}
    offer = Offer(name, "0" * 40, tuple(RemoteFile(file, size, "0" * 40) for file, size in files.items()))
    monkeypatch.setenv("WALKTHROUGH_DOWNLOADS", "yes")
    monkeypatch.setattr(downloads, "look_up", lambda *_: offer)
    app = opened(ANY, sentence=SENTENCE, model=name)
    assert any("Its files are 1,234.6 MB large." in notice for notice in notices(app))
    assert app.button(key="fetch").label == "Fetch 1,234.6 MB"
