"""What BART and T5 are given to read and to write, and that a killed training goes on as if nothing had been."""

import dataclasses
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from model.files import checkpoint
from model.text.tokenizer import EOS_ID, MASK_ID, PAD_ID, SENTINELS, SOS_ID
from tests.training.conftest import Killed, killed_after, same_weights
from tests.training.family_text import RECIPE, SIZES
from tests.training.restoring_family import NAMES, restoring_task, write_all
from training.family import records
from training.loop.noise import KINDS, Noisy, Pieces
from training.loop.restoring import OFTEN, PAIR, TAG_WORDS, TEXT, Restoring, TextToText, spoilt
from training.loop.resumable_run import Evaluation, Run
from training.loop.spans import read_spans
from training.loop.tasks import TAGS

pytestmark = pytest.mark.slow  # trains


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    return write_all(tmp_path, monkeypatch)


def epoch(subject: Restoring, n: int) -> list[tuple[list[int], list[int], list[int]]]:
    """Source, the decoder's input and its labels of every row, without padding."""
    names = ("src_ids", "tgt_ids", "labels")
    return [
        tuple([id for id in row.tolist() if id != PAD_ID] for row in rows)  # type: ignore[misc]
        for batch in subject.loader(n, 1)
        for rows in zip(*(batch[name] for name in names), strict=True)
    ]


def test_bart_reads_noise_and_writes_the_whole_text(files: tuple[Path, Path], tmp_path: Path) -> None:
    subject = Restoring(restoring_task("bart-mini", files, tmp_path))
    rows = epoch(subject, 0)
    written = Counter(id for _, _, labels in rows for id in labels[:-1])
    assert written == Counter(id for document in subject.documents for id in document.ids.tolist())
    for source, begun, labels in rows:
        assert begun == [SOS_ID, *labels[:-1]]
        assert source[-1] == labels[-1] == EOS_ID
        assert len(labels) <= TEXT + 1
        assert {*source} <= {*labels, MASK_ID}
    assert sum(source != labels for source, _, labels in rows) > 0.9 * len(rows)
    assert sorted(epoch(subject, 0)) == sorted(rows)
    seeds = [row.seed for row in subject.rows(subject.documents, random.Random(0), "train")]
    assert len({*seeds}) == len(seeds), "each row has noise of its own"
    assert sorted(epoch(subject, 1)) != sorted(rows)


def test_kinds_of_noise_are_drawn_as_often_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OFTEN.keys() == KINDS.keys()
    assert sum(OFTEN.values()) == pytest.approx(1)
    drawn: list[tuple[str, float]] = []
    for kind in KINDS:

        def note(text: Pieces, share: float, seed: int, kind: str = kind) -> Noisy:
            drawn.append((kind, share))
            return Noisy((), ())

        monkeypatch.setitem(KINDS, kind, note)
    for seed in range(3000):
        spoilt(Pieces(), seed)
    counts = Counter(kind for kind, _ in drawn)
    assert {kind: counts[kind] / 3000 for kind in KINDS} == pytest.approx(OFTEN, abs=0.03)
    shares = [share for _, share in drawn]
    assert [min(shares), np.mean(shares), max(shares)] == pytest.approx([0.2, 0.3, 0.4], abs=0.01)
    assert OFTEN == {"masking": 0.2, "deletion": 0.15, "infilling": 0.35, "permutation": 0.2, "rotation": 0.1}


def test_t5_is_told_by_words_which_of_three_tasks_it_is(files: tuple[Path, Path], tmp_path: Path) -> None:
    subject = TextToText(restoring_task("t5-mini", files, tmp_path))
    decode, first = subject.tokenizer.decode, subject.tokenizer.vocab_size
    assert subject.config.vocab_size == first + len(SENTINELS)
    fill, others = subject.fill.tolist(), Counter[tuple[str, str]]()
    texts, n_texts = Counter[int](), 0
    for source, _, labels in epoch(subject, 0):
        assert max(len(source), len(labels)) <= PAIR
        if source[: len(fill)] == fill:
            n_texts += 1
            hidden = read_spans(labels[:-1], first, sum(id >= first for id in labels) - 1)
            assert hidden is not None
            for id in source[len(fill) : -1]:
                texts.update(hidden[id - first] if id >= first else (id,))
        else:
            others[decode(source), decode(labels)] += 1
    assert texts == Counter(id for document in subject.documents for id in document.ids.tolist())
    n = n_texts // 2
    assert others == {
        ("tag: The cat sat .", "The determiner cat noun sat verb . mark"): n,
        ("answer: Who has it? Tom has a cat.", "Tom"): n,
    }
    assert subject.figures()["tagged"] == subject.figures()["questions"] == 8


@pytest.mark.parametrize("name", NAMES)
def test_lengths_are_told_before_the_noise_is_made(files: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    """Exactly for T5; noise may put some empty spans into a text for BART. Each side has half of a batch."""
    task = restoring_task(name, files, tmp_path)
    subject = task.subject(None)  # type: ignore[arg-type]
    for row in subject.rows(subject.documents, random.Random(0), "train"):
        source, target = subject.pair(row)
        told = subject.lengths(row)
        assert told[1] == len(target) + 1
        assert told[0] == len(source) + 1 if name == "t5-mini" else len(source) <= told[0] + 8
    for batch in subject.loader(0, 1):
        assert len(batch["labels"]) == 1 or batch["labels"].numel() <= RECIPE.batch_tokens // 2


def test_every_tag_has_a_word_of_its_own() -> None:
    assert [*TAG_WORDS] == TAGS
    assert len({*TAG_WORDS.values()}) == len(TAGS)
    assert all(word.isalpha() for word in TAG_WORDS.values())


def train(task: Any, save_every: int) -> list[Any]:
    return list(records(Run(task), save_every))


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_run_goes_on_to_exactly_the_same_weights(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    task = restoring_task(name, files, tmp_path)
    train(task, 7)
    task.out.rename(tmp_path / "whole")
    loss, dying = Restoring.loss, killed_after(13, Restoring.loss)
    with monkeypatch.context() as patch:
        patch.setattr(Restoring, "loss", dying)
        with pytest.raises(Killed):
            train(task, 7)
    assert Restoring.loss is loss
    assert train(task, 7)[0].step == 8
    for file in ("state/model.safetensors", "model.safetensors"):
        assert same_weights(tmp_path / "whole" / file, task.out / file)
    logs = [json.loads((folder / "log.json").read_text()) for folder in (tmp_path / "whole", task.out)]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("name", NAMES)
def test_each_learns(files: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    recipe = dataclasses.replace(RECIPE, steps=200, batch_tokens=600, warmup_steps=20, average_decay=0.9)
    task = dataclasses.replace(restoring_task(name, files, tmp_path), recipe=recipe)
    first, *_, last = [one.validation_loss for one in train(task, 20) if isinstance(one, Evaluation)]
    assert last < 0.7 * first
    network, tokenizer = checkpoint.load(task.out, vocabulary=tmp_path)
    assert network.embedding.matrix.num_embeddings == tokenizer.vocab_size
    assert tokenizer.vocab_size - tokenizer.first_sentinel == 16 * (name == "t5-mini")
    assert torch.isfinite(network(torch.tensor([[7, EOS_ID]]), torch.tensor([[SOS_ID]]))).all()


def test_t5_keeps_barts_encoder_and_table_and_learns_the_rest(files: tuple[Path, Path], tmp_path: Path) -> None:
    task = restoring_task("t5-mini", files, tmp_path)
    train(task, 7)
    own, bart = (load_file(tmp_path / name / "model.safetensors") for name in ("t5-mini", "bart-mini"))
    table = own.pop("embedding.matrix.weight")
    assert table.shape == (16, SIZES["d_model"]), "the sentinels alone"
    assert own.keys() == {name for name in bart if name.startswith("decoder.")}
    assert not any(torch.equal(weight, bart[name]) for name, weight in own.items())
    network, tokenizer = checkpoint.load(task.out, vocabulary=tmp_path)
    whole = network.state_dict()
    for name, weight in bart.items():
        if not name.startswith("decoder."):
            assert torch.equal(whole[name][: len(weight)], weight.float()), name
    assert torch.equal(whole["embedding.matrix.weight"][tokenizer.first_sentinel :], table.float())


def test_t5_begins_where_bart_stands_and_its_signs_anew(files: tuple[Path, Path], tmp_path: Path) -> None:
    subject = TextToText(restoring_task("t5-mini", files, tmp_path))
    model, bart = subject.new_model(), checkpoint.load(tmp_path / "bart-mini", vocabulary=tmp_path)[0]
    src, tgt = torch.tensor([[9, 11, EOS_ID]]), torch.tensor([[SOS_ID, 12]])
    n = subject.tokenizer.vocab_size
    torch.testing.assert_close(model.eval()(src, tgt)[..., :n], bart(src, tgt))
    model(src, tgt).sum().backward()
    gradient = model.embedding.matrix.weight.grad  # type: ignore[union-attr]
    assert not gradient[:n].any()  # type: ignore[index, union-attr]
    assert gradient[n:].any()  # type: ignore[index, union-attr]
    assert all(weight.grad is None for name, weight in model.named_parameters() if name.startswith("encoder."))


def test_without_a_bart_it_is_named(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "bart-mini" / "model.safetensors").unlink()
    with pytest.raises(checkpoint.CheckpointError, match=r"bart-mini/model\.safetensors"):
        TextToText(restoring_task("t5-mini", files, tmp_path))


def test_without_tasks_t5_says_so(files: tuple[Path, Path], tmp_path: Path) -> None:
    task = dataclasses.replace(restoring_task("t5-mini", files, tmp_path), tasks=None)
    with pytest.raises(ValueError, match=r"^t5-mini needs the folder of the tasks$"):
        TextToText(task)
