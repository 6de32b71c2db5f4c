"""The about page, against what was measured."""

import json

from tests.pages.kit import ROOT, markdown, opened, table
from ui import engine


def test_sizes_and_scores_are_the_shipped_model_s() -> None:
    app = opened(ROOT / "pages" / "about.py")
    text = markdown(app)
    measured = json.loads((ROOT / "assets" / "models" / "translator" / "metrics.json").read_text(encoding="utf-8"))
    assert ["Parameters (learned numbers)", f"{engine.model().n_parameters:,}"] in [
        row[:2] for row in table(app, "What")
    ]
    for how, scores in measured["test"].items():
        if isinstance(scores, dict):
            assert f"{scores['bleu']:.2f} | {scores['chrf']:.2f}" in text, how
    assert f"{measured['training']['pairs']:,} English-German pairs" in text
    assert "CC BY 2.0 FR" in text
