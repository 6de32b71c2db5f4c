"""The page with BertViz's views: this sentence's own weights, and query times key from the oracle's numbers."""

import json
import re

import pytest

from tests.pages.kit import ROOT, assert_sound, opened

PAGE = ROOT / "pages" / "explore" / "bertviz.py"


def view(app) -> str:
    (frame,) = app.get("iframe")
    return frame.proto.srcdoc


def given(page: str) -> dict:
    """What BertViz was given to draw."""
    (found,) = re.findall(r"const params = (\{.*\});", page)
    return json.loads(found)["attention"][0]


@pytest.mark.parametrize(
    "sentence", ["Go", "ฉันชอบสุนัข", "</script><script>alert(1)</script>", "My neighbour's cat sleeps. " * 30]
)
def test_any_sentence(sentence: str) -> None:
    app = opened(PAGE, sentence=sentence)
    assert_sound(app)
    assert view(app).count("</script>") == 4
    assert len(given(view(app))["left_text"]) <= 40
