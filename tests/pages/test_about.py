"""The about page, against what was measured."""

import json

from tests.pages.kit import ROOT, markdown, opened
from ui import engine


def test_sizes_and_scores_are_the_shipped_model_s() -> None:
    text = markdown(opened(ROOT / "pages" / "about.py"))
    measured = json.loads((ROOT / "assets" / "model" / "metrics.json").read_text(encoding="utf-8"))
    assert f"| {engine.machine().n_parameters:,} |" in text.replace("\\", "")
    for how, scores in measured["test"].items():
        if isinstance(scores, dict):
            assert f"{scores['bleu']:.2f} | {scores['chrf']:.2f}" in text, how
    assert f"{measured['training']['pairs']:,} English-German pairs" in text
    assert "CC BY 2.0 FR" in text
