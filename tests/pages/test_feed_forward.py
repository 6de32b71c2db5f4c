"""The lesson on the feed-forward network: its units, what is left out, rows alone, its questions."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.kit import ROOT, component, markdown, opened

PAGE = ROOT / "pages" / "blocks" / "feed_forward.py"
SENTENCE = "The black cat fights the white cat."


def at(stack: str, layer: int, sentence: str = SENTENCE, **others: str) -> AppTest:
    return opened(PAGE, sentence=sentence, stack=stack, layer=str(layer), **others)


def bars(app: AppTest) -> list[tuple[list[str], list[float]]]:
    """Names and values of each list of bars."""
    lists = [e.proto.body for e in app.get("html") if 'class="tw-bar-room"' in e.proto.body]
    return [
        (re.findall(r'bar-name">(.*?)<', text), [float(v) for v in re.findall(r'bar-value">(.*?)<', text)])
        for text in lists
    ]


def test_the_default_unit_is_one_that_several_pieces_share() -> None:
    assert len(bars(at("Encoder", 3))[1][0]) >= 4


@pytest.mark.parametrize("unit", ["", "x", "encoder.2.1024", "encoder.1.5", "encoder.2.99999", "encoder.2.-1", "²"])
def test_a_unit_that_does_not_fit_is_the_default(unit: str) -> None:
    assert at("Encoder", 3, unit=unit).selectbox[0].value == at("Encoder", 3).selectbox[0].value


def test_a_unit_that_rests_can_be_looked_at_too() -> None:
    app = opened(PAGE, sentence="Go", unit="encoder.2.623")
    assert app.selectbox[0].value == 623
    assert "**In your sentence** it fires for 0 of 2 pieces." in markdown(app)


def test_empty_addresses_have_their_defaults() -> None:
    app = opened(PAGE, stack="", layer="", ff_step="", leave_out="", ff_trial="", unit="", sentence=SENTENCE)
    (key,) = (e.key for e in app.get("bidi_component") if e.key.startswith("see_"))
    assert component(app, key)["csv_name"].startswith("encoder.layers.2.feed_forward.hidden columns")
    assert component(app, "do_after")
