"""The lesson on multi-head attention: heads off by buttons and address, and the cost that PyTorch counts."""

import html
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import pages.attention.multi_head.measures
import tests.course  # noqa: F401 - fills the course
from model.files.checkpoint import SHIPPED, CheckpointError
from model.kept import shared
from pages.attention.multi_head import roles
from tests.pages.kit import markdown, opened, table, values
from training.measure.parts_of_speech import FILE
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("multi-head").slug
SENTENCE = "The black cat fights the white cat."


def lists(app: AppTest) -> list[list[tuple[str, float]]]:
    """The lists of bars on the page: names and numbers."""
    bodies = [e.proto.body for e in app.get("html") if '<ol class="tw-bars"' in e.proto.body]
    row = re.compile(r'tw-bar-name">(.*?)</span>.*?tw-bar-value">(.*?)</span>')
    return [[(html.unescape(name), float(value)) for name, value in row.findall(body)] for body in bodies]


def plain(app: AppTest) -> str:
    return re.sub(r"\\(.)", r"\1", markdown(app)).replace("\u2060", "")


# --- See -------------------------------------------------------------------------------------------------------------


def test_without_the_measured_shares_the_page_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise CheckpointError("The model file heads.json is <b>broken</b>.")

    monkeypatch.setattr(pages.attention.multi_head.measures, "load_measured", refuse)
    shared.clear()
    try:
        app = opened(PAGE, sentence=SENTENCE)
        assert "cannot be shown. The model file heads.json is <b>broken</b>." in plain(app)
        assert len(table(app, "head", "looks here at")[0]) == 3
        assert values(app, "shares_here").shape == (5, 5)
        assert not [e for e in app.get("bidi_component") if e.key == "shares_measured"]
    finally:
        shared.clear()


def test_parts_of_speech_of_other_weights_are_not_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copy(SHIPPED / FILE, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(roles, "SHIPPED", tmp_path)
    with pytest.raises(CheckpointError, match=r"measured with other weights: run python -m training\.measure\.parts"):
        roles.parts_of_speech.__wrapped__()


# --- heads off -------------------------------------------------------------------------------------------------------


def address(app: AppTest) -> str:
    (text,) = np.atleast_1d(app.query_params["off"])
    return str(text)


def test_buttons_and_address_say_the_same() -> None:
    app = opened(PAGE, sentence=SENTENCE, off="cross.2.1 encoder.0.3", attention="Masked decoder", layer="2")
    pills = {b.key: b for b in app.get("button_group") if b.key and b.key.startswith("off/")}
    assert len(pills) == 9
    assert pills["off/cross/2"].value == [2]
    assert pills["off/encoder/0"].value == [4]
    pills["off/cross/2"].set_value([1, 2])
    app.run()
    assert address(app) == "cross.2.0+cross.2.1+encoder.0.3"
    assert "**3 heads off:**" in plain(app)
    app.button(key="layer_off").click().run()
    assert address(app) == "cross.2.0+cross.2.1+decoder.1.0+decoder.1.1+decoder.1.2+decoder.1.3+encoder.0.3"
    assert "Decoder masked self-attention, layer 2: all 4 heads are off." in "".join(i.value for i in app.info)
    assert "largest number is 0.0000" in "".join(i.value for i in app.info)
    app.button(key="all_on").click().run()
    assert "off" not in app.query_params
    assert "Switch a head off" in app.info[-1].value
    assert not lists(app)[1:]


@pytest.mark.parametrize(
    "text",
    ["cross.9.0", "sideways", "cross.0.0;melt", "<b>x</b>$1$", "+".join(["cross.0.0"] * 300), "cross.0.0+", "a" * 3000],
)
def test_an_address_that_cannot_be_followed_is_said_to_be_so(text: str) -> None:
    app = opened(PAGE, sentence=SENTENCE, off=text)
    assert len(app.warning) == 1
    assert "All heads are on" in app.warning[0].value
    assert "<b>" not in app.warning[0].value
    assert "Switch a head off" in app.info[-1].value
