"""The command that measures heads: means over all rows of all sentences, as a loop over the oracle's weights gives."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.attention.head_roles import MEASURED, SHARES, aligned_words, head_places, load_measured
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import load_folder
from model.trace import trace
from tests.oracle.language.common import KINDS
from tests.oracle.passes.forward import EOS, Forward, source_ids
from training.measure import heads as training

PAIRS = [("I ate an apple", "x"), ("Go", "Los!"), ("Where is the dog, Tom?", "x"), ("Go", "Lauf!"), ("unread", "x")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped model, so that its own measurement stays."""
    copy = tmp_path / "model"
    shutil.copytree(SHIPPED, copy)
    (copy / MEASURED).unlink()
    return copy


def test_the_command_writes_what_the_app_reads(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{english}\t{german}\n" for english, german in PAIRS), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["heads", str(file), "--limit", "3", "--model", str(folder)])
    training.main()
    assert "3 sentences" in capsys.readouterr().out
    written = json.loads((folder / MEASURED).read_text())
    assert written["command"] == "python -m training.measure.heads pairs.tsv --limit 3"
    assert written["data"] == {
        "file": "pairs.tsv",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "source": training.SOURCE,
    }
    assert written["model"]["sha256"] == hashlib.sha256((SHIPPED / "model.safetensors").read_bytes()).hexdigest()
    assert str(tmp_path) not in json.dumps(written)

    loaded = load_folder(folder)
    found = load_measured(loaded.anatomy, folder)
    assert (found.file, found.n_sentences) == ("pairs.tsv", 3)

    sentences = [english for english, _ in PAIRS[:3]]
    traces = [trace(loaded, sentence) for sentence in sentences]
    passes = [Forward(source_ids(s), [t.id for t in one.labels]) for s, one in zip(sentences, traces, strict=True)]
    assert written["rows"] == {
        "encoder": sum(len(p.ids["encoder"]) for p in passes),
        "decoder": sum(len(p.labels) for p in passes),
        "cross": sum(len(p.labels) for p in passes),
    }
    aligned = [aligned_words(loaded, one.src, one.labels) for one in traces]
    assert written["unaligned"] == sum(words.count(-1) for words in aligned)
    for kind in KINDS:
        for layer in range(loaded.config.n_layers):
            maps = [p[f"{KINDS[kind].path.format(layer)}.weights"] for p in passes]
            rows = sum(m.shape[1] for m in maps)
            for head in range(loaded.config.n_heads):
                share = found.shares[f"{kind}.{layer}.{head}"]
                if kind == "encoder":
                    assert share["next"] == pytest.approx(
                        sum(np.trace(m[head], offset=1) for m in maps) / rows, abs=1e-4
                    )
                if kind == "decoder":
                    assert share["sos"] == pytest.approx(sum(m[head, :, 0].sum() for m in maps) / rows, abs=1e-4)
                else:
                    assert share["eos"] == pytest.approx(sum(m[head, :, -1].sum() for m in maps) / rows, abs=1e-4)
    assert all(p.ids["encoder"][-1] == EOS for p in passes)
    for kind in KINDS:
        counted = [head_places(one, kind, words) for one, words in zip(traces, aligned, strict=True)]
        for name in SHARES[kind]:
            columns = [places[name] for places in counted]
            rows = sum(map(len, columns))
            seen = [np.tri(*c.shape) if kind == "decoder" else np.ones(c.shape) for c in columns]
            even = sum((s / s.sum(-1, keepdims=True) * c).sum() for s, c in zip(seen, columns, strict=True)) / rows
            assert found.baselines[kind][name] == pytest.approx(even, abs=1e-4)
            for layer in range(loaded.config.n_layers):
                maps = [p[f"{KINDS[kind].path.format(layer)}.weights"] for p in passes]
                for head in range(loaded.config.n_heads):
                    share = sum((m[head] * c).sum() for m, c in zip(maps, columns, strict=True)) / rows
                    assert found.shares[f"{kind}.{layer}.{head}"][name] == pytest.approx(share, abs=1e-4)
    lengths = [len(p.ids["encoder"]) for p in passes]
    assert found.baselines["encoder"]["eos"] == pytest.approx(len(lengths) / sum(lengths), abs=1e-4)


def test_what_is_typed_reaches_the_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def write(*arguments: object) -> Path:
        asked.append(arguments)
        target = tmp_path / "heads.json"
        target.write_text('{"sentences": 1234}')
        return target

    monkeypatch.setattr(training, "write", write)
    for typed in ([], ["--limit", "5", "--model", "m", "--source", "a book"]):
        monkeypatch.setattr(sys, "argv", ["heads", "f.tsv", *typed])
        training.main()
    assert asked == [(SHIPPED, Path("f.tsv"), None, training.SOURCE), (Path("m"), Path("f.tsv"), 5, "a book")]


def test_the_command_that_is_written_down_has_no_limit_if_there_was_none(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "measure", lambda loaded, sentences: {"sentences": sentences})
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{english}\t{german}\n" for english, german in PAIRS), encoding="utf-8")
    written = json.loads(training.write(folder, file, source="a book").read_text())
    assert written["command"] == "python -m training.measure.heads pairs.tsv"
    assert written["sentences"] == ["I ate an apple", "Go", "Where is the dog, Tom?", "unread"]
    assert written["data"]["source"] == "a book"


def test_the_shipped_measurement_is_in_itself_sound() -> None:
    """Every source sentence has one `<eos>`, so what equal weights give it follows from the counts."""
    written = json.loads((SHIPPED / MEASURED).read_text())
    n, rows = written["sentences"], written["rows"]
    assert written["uniform"]["encoder"]["eos"] == pytest.approx(n / rows["encoder"], abs=1e-4)
    assert written["uniform"]["encoder"]["previous"] < written["uniform"]["encoder"]["itself"]
    assert rows["decoder"] == rows["cross"]
    assert 0 < written["unaligned"] < rows["cross"]
