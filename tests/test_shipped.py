"""The model as shipped, beside a second computation from its files (tests/forward.py, tests/decode.py)."""

import json
from typing import Any

import pytest

from model.loaded import MODELS
from tests.oracle.decode import german, translated
from ui import engine


@pytest.mark.parametrize("sentence", ["I ate an apple", "My neighbour's cat doesn't like the rain, does it?"])
def test_the_app_translates_as_the_oracle_does(sentence: str) -> None:
    trace, oracle = engine.trace(sentence), translated(sentence)
    assert [t.id for t in trace.src] == oracle.ids["encoder"]
    assert [t.id for t in trace.labels] == oracle.labels
    assert trace.translation == german(sentence)


@pytest.mark.parametrize("sentence", ["I ate an apple", "I ate an apple."])
def test_the_standing_example_translates_correctly(sentence: str) -> None:
    assert engine.trace(sentence).translation in ("Ich habe einen Apfel gegessen.", "Ich aß einen Apfel.")


def figures(name: str) -> dict[str, Any]:
    measured: dict[str, Any] = json.loads((MODELS / name / "metrics.json").read_text())["test"]
    return measured


def test_the_readme_tells_the_familys_figures_and_they_reach_what_they_must() -> None:
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    gpt, lstm, bert, regression = (figures(name) for name in ("gpt-mini", "lstm", "bert-mini", "in-context"))
    ratios = [regression["in-context"][str(n)] / regression["ridge"][str(n)] for n in range(5, 41)]
    for told in (
        f"{gpt['bits_per_byte']:.3f} ({gpt['five_gram']:.3f}; {lstm['bits_per_byte']:.3f})",
        f"{bert['accuracy']:.1%} ({bert['left_neighbour']:.1%})",
        f"{min(ratios):.2f}, {max(ratios):.2f}",
    ):
        assert f"| {told} |" in readme, told
    assert gpt["bits_per_byte"] < min(gpt["five_gram"], lstm["bits_per_byte"])
    assert gpt["data"] == lstm["data"] == bert["data"]
    assert bert["accuracy"] > 2 * bert["left_neighbour"]
    assert max(ratios) < 1.1
