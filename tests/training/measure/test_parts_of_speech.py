"""The command that measures parts of speech: means over all rows, as a loop over the oracle's weights gives."""

from pathlib import Path

import numpy as np
import pytest

from model.files.loaded_model import load_model
from tests.oracle.language.words import encoded
from tests.oracle.passes.forward import EOS, SOS, Forward
from training.measure.parts_of_speech import PARTS, measure

TEXTS = (
    ("The old dog sleeps .", "DET ADJ NOUN VERB PUNCT"),
    ("Neighbours sing", "NOUN VERB"),
    ("dog " * 200, "NOUN " * 200),
)


def test_a_share_is_the_mean_of_what_rows_give_to_the_pieces_of_such_words(tmp_path: Path) -> None:
    file = tmp_path / "tagged.tsv"
    file.write_text("tokens\ttags\n" + "".join(f"{words}\t{tags}\n" for words, tags in TEXTS), encoding="utf-8")
    found = measure(load_model(), file)
    assert found["sentences"] == 2, "the third is longer than the model can take"
    rows, equal = 0, dict.fromkeys(PARTS, 0)
    totals = {(part, layer, head): 0.0 for part in PARTS for layer in range(3) for head in range(4)}
    for words, tags in TEXTS[:2]:
        cut = [encoded(word) for word in words.split()]
        read = Forward([*(id for word in cut for id in word), EOS], [SOS])
        marks = [*(tag for word, tag in zip(cut, tags.split(), strict=True) for _ in word), ""]
        rows += len(marks)
        for part, tag in PARTS.items():
            columns = [n for n, mark in enumerate(marks) if mark == tag]
            equal[part] += len(columns)
            for layer in range(3):
                weights = read[f"encoder.layers.{layer}.self_attn.weights"]
                for head in range(4):
                    totals[part, layer, head] += float(np.asarray(weights[head])[:, columns].sum())
    assert found["uniform"] == {part: pytest.approx(n / rows, abs=1e-4) for part, n in equal.items()}
    for (part, layer, head), total in totals.items():
        assert found["shares"][f"encoder.{layer}.{head}"][part] == pytest.approx(total / rows, abs=1e-4)
