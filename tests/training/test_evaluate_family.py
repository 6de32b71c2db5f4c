"""The yardsticks of the family, each beside a plain count; and what publishing puts into the app."""

import dataclasses
import itertools
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from model.build import build_in_context, build_network
from model.config import PRESETS
from model.families.in_context import InContextConfig
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.files import checkpoint
from model.files.checkpoint import CheckpointError
from model.files.load_special_models import load_in_context, load_lstm
from model.files.loaded_model import load_model, model_names
from model.text.tokenizer import EOS_ID, MASK_ID, SOS_ID
from model.trace import trace
from tests.training.family_text import LEARNED, NUMBERS, SIZES, texts, write_texts
from tests.training.task_files import write_tasks
from training.loop.corpus import Document, read_corpus
from training.loop.in_context import Regression
from training.loop.objectives import save_network
from training.measure import family as evaluate_family
from training.measure.family import (
    Texts,
    area_under_curve,
    bits,
    bits_per_byte,
    detection,
    masked_accuracy,
    measure,
    most_frequent_next,
    next_sentence_accuracy,
    regression_errors,
    single_sentences_told,
    windows,
)
from training.measure.kneser_ney import KneserNey, stream_of
from training.publish import family as publish_family
from training.publish.family import publish

TRAINING = {
    "name": "x", "data": "train.txt", "documents": 1234, "tokens": 56_789, "steps": 9, "epochs": 1.25,
    "seconds": 7200, "hardware": "an abacus", "seed": 5, "validation_loss": 2.3456, "kept_step": 8,
    "tagged": 4321, "questions": 8765,
    "recipe": {"steps": 9, "batch_tokens": 777}, "regression": {"d": 3, "n_pairs": 7, "sigma": 0.5},
}  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Trainings of all four, small, with random weights; in-context is not finished."""
    folder = tmp_path / "runs"
    folder.mkdir()
    write_texts(folder)
    (folder / "test.txt").write_text(texts(5, 3))
    size = checkpoint.load_tokenizer(folder).vocab_size
    lstm = RecurrentConfig(size, d_model=24, d_hidden=30, n_layers=1, max_len=32)
    gpt, linear, bert = (
        dataclasses.replace(PRESETS[name], vocab_size=size, **SIZES) for name in ("gpt-mini", "gpt-linear", "bert-mini")
    )
    albert = dataclasses.replace(bert, d_embedding=8, shares_layers=True)
    numbers = InContextConfig(**{**NUMBERS, "n_pairs": 41})
    networks: dict[str, tuple[Any, nn.Module]] = {
        "gpt-mini": (gpt, build_network(gpt)),
        "gpt-linear": (linear, build_network(linear)),
        "lstm": (lstm, RecurrentLanguageModel(lstm)),
        "bert-mini": (bert, build_network(bert)),
        "in-context": (numbers, build_in_context(numbers)),
        "albert-mini": (albert, build_network(albert)),
    }
    for name, extra in (("bart-mini", 0), ("t5-mini", 16)):
        config = dataclasses.replace(PRESETS[name], vocab_size=size + extra, **SIZES | {"max_len": 128})
        networks[name] = config, build_network(config)
    write_tasks(folder)
    for name, (config, network) in networks.items():
        (folder / name).mkdir()
        save_network(folder / name, config, network.state_dict())
        (folder / name / "training.json").write_text(json.dumps(TRAINING | {"steps": 9 - (name == "in-context")}))
        (folder / name / "log.json").write_text('{"steps": []}')
        (folder / name / "state").mkdir()
    return folder


@pytest.fixture
def yardstick(runs: Path) -> Texts:
    return Texts(checkpoint.load_tokenizer(runs), [runs / "train.txt"], [runs / "test.txt"])


def document(*ids: int) -> Document:
    return Document((np.array(ids, dtype=np.uint16),), 2 * len(ids))


@pytest.mark.parametrize("length", [1, 5, 7, 8, 9, 11, 12, 30])
def test_each_token_is_scored_once_with_half_a_width_before_it(length: int) -> None:
    text = document(*range(10, 10 + length))
    scored = [int(id) for ids, first in windows(text, 8) for id in ids[first:]]
    assert scored == [*range(10, 10 + length), EOS_ID]
    assert all(len(ids) <= 8 and first in (0, 4) for ids, first in windows(text, 8))


def test_bits_are_those_of_the_chain_rule() -> None:
    """Of two texts, token by token, by a model that looks back three tokens: less than half a width."""
    torch.manual_seed(2)
    table = torch.randn(3, 50, 50)

    class LooksBack(nn.Module):
        def forward(self, tgt_ids: Tensor) -> Tensor:
            padded = nn.functional.pad(tgt_ids, (2, 0), value=SOS_ID)
            return sum(table[k, padded[:, 2 - k : padded.size(1) - k]] for k in range(3))  # type: ignore[return-value]

    documents = [document(*np.random.default_rng(1).integers(6, 50, 40)), document(7, 8)]
    total = 0.0
    for one in documents:
        ids = [SOS_ID, *one.ids.tolist(), EOS_ID]
        for at in range(1, len(ids)):
            before = [ids[max(0, at - 1 - k)] if at - 1 - k >= 0 else SOS_ID for k in range(3)]
            logits = sum(table[k, before[k]] for k in range(3))
            total -= float(logits.log_softmax(-1)[ids[at]]) / math.log(2)  # type: ignore[union-attr]
    assert bits(LooksBack(), documents, 8) == pytest.approx(total, rel=1e-5)
    assert bits_per_byte(168.0, documents) == 2.0


def test_the_most_frequent_neighbour_by_counting(yardstick: Texts) -> None:
    followers: dict[int, Counter[int]] = {}
    for one in yardstick.train:
        ids = [SOS_ID, *one.ids.tolist(), EOS_ID]
        for left, right in itertools.pairwise(ids):
            followers.setdefault(left, Counter())[right] += 1
    best = most_frequent_next(yardstick.train, yardstick.vocab_size)
    for left, counter in followers.items():
        if left != EOS_ID:
            assert counter[int(best[left])] == max(counter.values())
    frequent = Counter(id for one in yardstick.train for id in one.ids.tolist()).most_common(1)[0][0]
    assert best[MASK_ID] == frequent, "behind what was never seen stands the most frequent of all"


def test_masked_tokens_are_counted_as_the_model_and_as_the_left_neighbour_guess_them() -> None:
    """Texts of 7 8 7 8 …: behind 7 always stands 8, and behind 8 a 7. A model that always says 8 is right by half."""
    documents = [document(*[7, 8] * 10)] * 40
    after = np.full(20, 7, dtype=np.uint16)
    after[7] = 8

    class SaysEight(nn.Module):
        def forward(self, src_ids: Tensor, segment_ids: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
            assert ((src_ids == MASK_ID) == rows).all()
            return nn.functional.one_hot(torch.full((int(rows.sum()),), 8), 20).float(), torch.zeros(1)

    figures = masked_accuracy(SaysEight(), documents, 24, after, 20)
    assert figures["accuracy"] == pytest.approx(0.5, abs=0.12)
    assert figures["left_neighbour"] == 1.0, "[CLS] and the 7 behind it fit too"
    assert figures["masked_tokens"] == pytest.approx(0.15 * 800, rel=0.25)


class TellsOthers(nn.Module):
    """A text of another token than the first one's is from elsewhere."""

    def forward(self, src_ids: Tensor, segment_ids: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        assert not rows.any()
        last = (src_ids != 0).sum(1) - 2
        is_other = src_ids[:, 1] != src_ids[torch.arange(len(src_ids)), last]
        return torch.zeros(0, 20), nn.functional.one_hot(is_other.long(), 2).float()[:, None]


def test_pairs_are_counted_as_the_model_tells_them_apart() -> None:
    """Each text is of one token alone, so that a second text of another token is from elsewhere."""
    documents = [Document(tuple(np.full(6, 7 + n, dtype=np.uint16) for _ in range(8)), 48) for n in range(9)]

    figures = next_sentence_accuracy(TellsOthers(), documents, 24)
    assert figures["next_sentence"] == 1.0
    assert 0.5 <= figures["always_the_same"] < 0.9
    assert figures["pairs"] > 9


def test_neighbours_beside_strangers_by_hand_and_on_a_model_that_looks_at_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    high, low = np.array([3.0, 1.0, 1.0]), np.array([2.0, 1.0])
    area, error = area_under_curve(high, low)
    assert area == pytest.approx((2 + 0.5 + 0.5) / 6)  # the 3 is above both; each 1 ties with one
    assert error == pytest.approx((np.var([1, 0.25, 0.25], ddof=1) / 3 + np.var([1 / 3, 2 / 3], ddof=1) / 2) ** 0.5)
    assert area_under_curve(low, high)[0] == pytest.approx(1 - area)
    documents = [Document(tuple(np.full(6, 7 + n, dtype=np.uint16) for _ in range(8)), 48) for n in range(9)]
    told = single_sentences_told(TellsOthers(), documents, 24)
    assert (told["single_sentences"], told["standard_error"]) == (1.0, 0.0)
    assert 30 < told["single_pairs"] < 72, "every row is a pair of two sentences, but for a last one"
    lengths: set[int] = set()
    monkeypatch.setattr(
        evaluate_family,
        "pair_scores",
        lambda _, pairs: lengths.update(len(one.ids) for one in pairs) or np.zeros(len(pairs)),
    )
    single_sentences_told(TellsOthers(), documents, 40)
    assert lengths == {6 + 6 + 3}


def test_what_was_put_in_is_told_from_all_others_and_a_lucky_guess_is_no_replacement() -> None:
    """The generator says 8 for every blank; the discriminator finds every 8 suspicious. Texts are of 7 and 8."""
    documents = [document(*[7, 8] * 10)] * 40

    class SaysEight(nn.Module):
        def forward(self, src_ids: Tensor, segment_ids: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
            return 99 * nn.functional.one_hot(torch.full((int(rows.sum()),), 8), 20).float(), torch.zeros(1)

    class SuspectsEight(nn.Module):
        def forward(self, src_ids: Tensor, segment_ids: Tensor) -> Tensor:
            return (2.0 * (src_ids == 8) - 1)[..., None]

    figures = detection(SuspectsEight(), SaysEight(), documents, 24, 20)
    eights = 400  # that stood there; of the 7 about 60 were replaced by one
    others = 40 * 20 - figures["replaced"]  # [CLS] and [SEP] are no pieces that could be swapped
    assert figures["guessed_right"] == pytest.approx(0.5, abs=0.12)
    assert figures["area"] == pytest.approx(1 - eights / others / 2, abs=1e-4), "an 8 that stood there ties with it"
    assert figures["told"] == pytest.approx((800 - eights) / 800, abs=1e-4)
    assert figures["always_original"] == pytest.approx(others / 800, abs=1e-4)
    assert detection(SuspectsEight(), SaysEight(), documents, 24, 20, temperature=1e4)["guessed_right"] < 0.2


def test_a_model_that_says_zero_errs_like_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate_family, "N_PROMPTS", 600)

    class Zero(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return torch.zeros_like(y)

    errors = regression_errors(Zero(), Regression())
    assert errors["in-context"] == errors["zero"]
    assert list(errors["ridge"]) == list(range(1, 41))
    assert errors["zero"][40] == pytest.approx(1.25, abs=0.25)
    assert errors["ridge"][40] < errors["ridge"][5] < errors["zero"][5]
    assert errors["ridge"][40] == pytest.approx(0.25 * (1 + 5 / 40), abs=0.06), "σ², and what d numbers cost"
    assert errors["least squares"][5] > errors["ridge"][5]


def test_each_model_gets_the_figures_of_its_kind(runs: Path, yardstick: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate_family, "N_PROMPTS", 50)
    gpt, lstm, bert = (measure(runs / name, yardstick) for name in ("gpt-mini", "lstm", "bert-mini"))
    assert gpt.keys() == lstm.keys() == {"data", "bits_per_byte", "five_gram"}
    assert gpt["five_gram"] == lstm["five_gram"] < gpt["bits_per_byte"], "which has learned nothing"
    documents = read_corpus([runs / "test.txt"], checkpoint.load_tokenizer(runs))
    n = sum(len(one.ids) + 1 for one in documents)
    counted = KneserNey(stream_of(yardstick.train, 5), yardstick.vocab_size, 5)
    five = -np.log2(counted.probabilities(stream_of(documents, 5))).sum() / sum(one.n_bytes for one in documents)
    assert gpt["five_gram"] == pytest.approx(five, abs=1e-4)
    blind = n * math.log2(yardstick.vocab_size) / sum(one.n_bytes for one in documents)
    assert gpt["bits_per_byte"] == pytest.approx(blind, rel=0.05)
    assert (gpt["data"], bert["data"]) == ("test.txt", "test.txt")
    assert 0 <= bert["accuracy"] < bert["left_neighbour"]
    assert 0 <= bert["next_sentence"] <= 1
    assert measure(runs / "in-context", None).keys() >= {"in-context", "ridge", "zero"}


# --- publishing -------------------------------------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_published_models_open_by_name_and_share_one_vocabulary(
    runs: Path, yardstick: Texts, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate_family, "N_PROMPTS", 50)
    for name in (*LEARNED, "albert-mini", "bart-mini", "t5-mini"):
        metrics = publish(name, runs, yardstick, models, runs)
        files = {path.name for path in (models / name).iterdir()}
        more = {"about.json"} if name not in ("lstm", "in-context") else set()
        more |= {"tokenizer.json"} if name == "gpt-mini" else set()
        assert files == {"model.safetensors", "config.json", "log.json", "metrics.json", "README.md"} | more
        assert json.loads((models / name / "metrics.json").read_text()) == json.loads(json.dumps(metrics))
        assert metrics["training"]["documents"] == 1234
        assert (models / name / "model.safetensors").read_bytes() == (runs / name / "model.safetensors").read_bytes()
        assert {weight.dtype for weight in load_file(models / name / "model.safetensors").values()} == {torch.float16}
        words = (models / name / "README.md").read_text()
        assert f"{metrics['parameters']:,} parameters" in words
        assert "{" not in words
        assert "took 2.0 hours on an abacus" in words.replace("\n", " ")
        assert ("Tatoeba (tatoeba.org), CC BY 2.0 FR" in words) == (name != "in-context")
        assert ("github.com/global-asp/pb-source" in words) == (name != "in-context")
    assert model_names(models) == (
        "albert-mini", "bart-mini", "bert-mini", "gpt-linear", "gpt-mini", "t5-mini",
    )  # fmt: skip
    gpt, bert = load_model("gpt-mini", models), load_model("bert-mini", models)
    assert load_model("gpt-linear", models).config.attention == "linear_exponential"
    assert gpt.tokenizer.backend.to_str() == bert.tokenizer.backend.to_str()
    assert trace(gpt, "Tom sees").tgt_ids[:2] == (SOS_ID, gpt.tokenizer.encode("Tom")[0])
    assert trace(bert, "Tom sees").src_ids[1] == gpt.tokenizer.encode("Tom")[0]
    assert load_lstm(models / "lstm")(torch.tensor([[SOS_ID]])).shape == (1, 1, gpt.tokenizer.vocab_size)
    bart, t5 = (load_model(name, models) for name in ("bart-mini", "t5-mini"))
    assert trace(bart, "Tom sees").src_ids == (*gpt.tokenizer.encode("Tom sees"), EOS_ID)
    assert t5.config.vocab_size == t5.tokenizer.vocab_size == bart.tokenizer.vocab_size + 16
    assert [one.text for one in t5.tokenizer.tokens(range(t5.tokenizer.first_sentinel, t5.config.vocab_size))][:2] == [
        "<X>",
        "<Y>",
    ]
    assert "license: cc-by-sa-4.0" in (models / "t5-mini" / "README.md").read_text()
    network, config = load_in_context(models / "in-context")
    assert network(torch.zeros(1, 3, config.d_in), torch.zeros(1, 3)).shape == (1, 3)


def test_gpt_comes_first_and_the_vocabulary_must_be_its_own(runs: Path, yardstick: Texts, models: Path) -> None:
    with pytest.raises(ValueError, match=r"^first publish gpt-mini, whose vocabulary bert-mini shares$"):
        publish("bert-mini", runs, yardstick, models)
    publish("gpt-mini", runs, yardstick, models)
    (runs / "tokenizer.json").write_text((runs / "tokenizer.json").read_text() + " ")
    with pytest.raises(ValueError, match="bert-mini was trained with another vocabulary"):
        publish("bert-mini", runs, yardstick, models)


def test_what_people_wrote_stays_and_a_failure_leaves_the_former_model(
    runs: Path, yardstick: Texts, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish("gpt-mini", runs, yardstick, models)
    (models / "gpt-mini" / "about.json").write_text('{"title": "Ours"}')
    before = {path.name: path.read_bytes() for path in (models / "gpt-mini").iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(publish_family, "measure", lambda *_: {})
        with pytest.raises(KeyError):
            publish("gpt-mini", runs, yardstick, models)
    assert {path.name: path.read_bytes() for path in (models / "gpt-mini").iterdir()} == before
    publish("gpt-mini", runs, yardstick, models)
    assert load_model("gpt-mini", models).about.title == "Ours"


def test_the_commands(
    runs: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluate_family, "N_PROMPTS", 50)
    files = ["--train", str(runs / "train.txt"), "--test", str(runs / "test.txt")]
    monkeypatch.setattr(sys, "argv", ["evaluate", str(runs), *files, "--only", "gpt-mini"])
    assert evaluate_family.main() == 0
    printed = json.loads(capsys.readouterr().out)["gpt-mini"]
    monkeypatch.setattr(sys, "argv", ["publish", str(runs), *files, "--tasks", str(runs)])
    assert publish_family.main(models) == 0
    said = capsys.readouterr().out
    assert f"gpt-mini: {json.dumps(printed)}" in said
    assert "in-context is not finished\n" in said
    assert not (models / "in-context").exists()
    monkeypatch.setattr(sys, "argv", ["publish", str(runs), "--only", "in-context", "--unfinished"])
    assert publish_family.main(models) == 0
    assert (models / "in-context" / "metrics.json").exists()


def test_what_goes_wrong_is_said_in_a_sentence(
    runs: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--train", str(runs / "train.txt"), "--test", str(runs / "gone.txt")]
    for command, main in (("evaluate", evaluate_family.main), ("publish", lambda: publish_family.main(models))):
        monkeypatch.setattr(sys, "argv", [command, str(runs), *files])
        assert main() == 1
        assert "gone.txt" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_damaged_file_is_named(runs: Path, file: str) -> None:
    for name, load in (("lstm", load_lstm), ("in-context", load_in_context)):
        (runs / name / file).write_text("{}" if file == "model.safetensors" else '{"d_mode": 3}')
        with pytest.raises(CheckpointError, match=f"{file} cannot be read"):
            load(runs / name)
        (runs / name / file).unlink()
        with pytest.raises(CheckpointError, match=f"{file} is missing"):
            load(runs / name)
