"""Every family of models, made on the spot: what the app shows is what transformers itself computes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from explore.attention import AttentionMaps
from explore.folders import ModelError, Settings
from explore.hugging_face import N_PREDICTIONS, Shelf, kind_of, load, read
from figures.grouping import Group
from model.export import export
from model.trace import load_machine, trace
from tests.explore.small_models import FAMILIES, make
from ui.attention import groups_of
from ui.foreign import shown_groups

SENTENCE = "The black cat fights the white cat."


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    root = tmp_path_factory.mktemp("models")
    for family in FAMILIES:
        make(family, root / family)
    return Settings(root, downloads=False, kept=2)


@pytest.mark.parametrize("family", FAMILIES)
def test_maps_are_those_of_the_library(family: str, settings: Settings) -> None:
    opened = load(family, settings)
    reading = read(opened, SENTENCE)
    model = FAMILIES[family][0].from_pretrained(settings.root / family, attn_implementation="eager").eval()
    ids = opened.tokenizer(SENTENCE, return_tensors="pt")
    if "token_type_ids" in ids:
        del ids["token_type_ids"]
    with torch.inference_mode():
        if opened.kind == "encoder-decoder":
            written = model.generate(**ids, do_sample=False, num_beams=1, max_new_tokens=48)
            out = model(**ids, decoder_input_ids=written[:, :-1], output_attentions=True)
            expected = [out.encoder_attentions, out.decoder_attentions, out.cross_attentions]
        else:
            expected = [model(**ids, output_attentions=True).attentions]
    assert len(reading.maps) == len(expected)
    for maps, layers in zip(reading.maps, expected, strict=True):
        assert np.allclose(maps.weights, torch.cat(layers).numpy(), atol=1e-6)
        assert np.allclose(maps.weights.sum(-1), 1, atol=1e-5)
        assert maps.weights.shape[2:] == (len(maps.rows), len(maps.columns))


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_the_softmax_of_the_logits(family: str, settings: Settings) -> None:
    opened = load(family, settings)
    assert opened.predicts
    reading = read(opened, SENTENCE, hidden=2)
    assert len(reading.predictions) == N_PREDICTIONS
    probabilities = [p.probability for p in reading.predictions]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0 < sum(probabilities) <= 1 + 1e-9
    ids = opened.tokenizer(SENTENCE, return_tensors="pt").input_ids
    with torch.inference_mode():
        if opened.kind == "encoder":
            ids[0, 2] = opened.tokenizer.mask_token_id
            logits = opened.model(input_ids=ids).logits[0, 2]
        elif opened.kind == "decoder":
            logits = opened.model(input_ids=ids).logits[0, -1]
        else:
            start = torch.tensor([[opened.model.config.decoder_start_token_id]])
            logits = opened.model(input_ids=ids, decoder_input_ids=start).logits[0, 0]
    best = torch.nn.functional.softmax(logits.double(), -1).sort(descending=True).values[:N_PREDICTIONS]
    assert np.allclose(probabilities, best.numpy(), atol=1e-9)


def test_special_tokens_are_shown_and_belong_to_no_word(settings: Settings) -> None:
    reading = read(load("bert", settings), SENTENCE)
    (maps,) = reading.maps
    assert reading.tokens[0] == "[CLS]"
    assert reading.tokens[-1] == "[SEP]"
    assert maps.row_words[0] == maps.row_words[-1] == -1
    assert read(load("t5", settings), SENTENCE).tokens[-1] == "</s>"


def test_pieces_of_a_word_are_grouped(settings: Settings) -> None:
    (maps,) = read(load("bert", settings), "catblackcat").maps
    inner = maps.row_words[1:-1]
    assert len(inner) > 1
    assert set(inner) == {0}


def word_groups(maps: AttentionMaps, without_special: bool = False) -> list[Group]:
    """The rows of a map, grouped into words as the pages do it."""
    return shown_groups(maps.rows, maps.row_words, maps.row_wholes, True, without_special)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "t5", "marian"])
def test_a_word_is_shown_as_it_was_written(family: str, settings: Settings) -> None:
    reading = read(load(family, settings), "The river fights basketball")
    rows = word_groups(reading.maps[0], without_special=True)
    assert [row.label for row in rows] == ["The", "river", "fights", "basketball"]
    assert not [token for token in reading.tokens if "▁" in token or "Ġ" in token]


def test_bytes_are_in_hexadecimal_and_make_words(settings: Settings) -> None:
    reading = read(load("gpt2", settings), "cat 🐶")
    assert reading.tokens[-4:] == ("‹F0›", "‹9F›", "‹90›", "‹B6›")
    rows = word_groups(reading.maps[0])
    assert [row.label for row in rows] == ["cat", "🐶"]


def test_a_covered_token_is_guessed_though_another_mask_is_typed(settings: Settings) -> None:
    opened = load("bert", settings)
    reading = read(opened, "[MASK] black cat", hidden=3)
    ids = opened.tokenizer("[MASK] black cat", return_tensors="pt").input_ids
    covered = int(ids[0, 3])
    ids[0, 3] = opened.tokenizer.mask_token_id
    with torch.inference_mode():
        probabilities = torch.nn.functional.softmax(opened.model(input_ids=ids).logits[0, 3].double(), -1)
    assert np.isclose(reading.predictions[0].probability, float(probabilities.max()), atol=1e-9)
    assert reading.covered is not None
    assert np.isclose(reading.covered.probability, float(probabilities[covered]), atol=1e-9)
    order = probabilities.argsort(descending=True).tolist()
    assert reading.covered.rank == order.index(covered) + 1
    assert reading.covered.text == read(opened, "[MASK] black cat").tokens[3]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sentence_longer_than_the_model_takes_is_cut(family: str, settings: Settings) -> None:
    opened = load(family, settings)
    reading = read(opened, SENTENCE * 40)
    assert len(reading.tokens) <= opened.longest
    assert reading.n_cut > 0


@pytest.mark.parametrize("text", ["ฉันชอบสุนัข", "🐶", "</script><script>alert(1)</script>", "a", "\u202e\u200b"])
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_any_text_is_read(family: str, text: str, settings: Settings) -> None:
    reading = read(load(family, settings), text)
    assert all(np.isfinite(maps.weights).all() for maps in reading.maps)


def test_nothing_is_refused_in_one_sentence(settings: Settings) -> None:
    with pytest.raises(ModelError, match="type a sentence"):
        read(load("gpt2", settings), "")


def test_our_own_model_reads_as_it_does_here(tmp_path: Path) -> None:
    export(tmp_path / "ours")
    reading = read(load("ours", Settings(tmp_path, False, 1)), SENTENCE)
    own = trace(load_machine(), SENTENCE)
    assert reading.written == own.translation
    assert [m.kind for m in reading.maps] == ["encoder", "decoder", "cross"]
    for maps in reading.maps:
        ours = np.stack([own.attention(maps.kind, layer) for layer in range(len(maps.weights))])
        assert np.allclose(maps.weights, ours, atol=1e-5)
    assert reading.maps[0].rows == tuple(token.text for token in own.src)
    group = word_groups(reading.maps[2])
    assert [len(g.pieces) for g in group] == [len(g.pieces) for g in groups_of(own.labels, by_word=True)]


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "encoder"),
        ({"model_type": "bert", "architectures": ["BertLMHeadModel"]}, "decoder"),
        ({"model_type": "gpt2"}, "decoder"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "encoder-decoder"),
        ({"model_type": "bart", "architectures": ["BartForCausalLM"], "is_encoder_decoder": False}, "decoder"),
    ],
)
def test_which_family_a_configuration_belongs_to(config: dict[str, object], kind: str) -> None:
    assert kind_of(config) == kind


@pytest.mark.parametrize("model_type", ["vit", "clip", "", "no-such-type"])
def test_what_is_no_language_model_is_refused(model_type: str) -> None:
    with pytest.raises(ModelError, match="no language model"):
        kind_of({"model_type": model_type})


def test_a_model_without_its_head_shows_attention_and_predicts_nothing(settings: Settings, tmp_path: Path) -> None:
    opened = load("bert", settings)
    opened.model.bert.save_pretrained(tmp_path / "bare")
    opened.tokenizer.save_pretrained(tmp_path / "bare")
    bare = load("bare", Settings(tmp_path, False, 1))
    assert not bare.predicts
    reading = read(bare, SENTENCE, hidden=2)
    assert reading.predictions == ()
    assert np.allclose(reading.maps[0].weights, read(opened, SENTENCE, hidden=2).maps[0].weights, atol=1e-6)


def test_the_least_used_model_leaves_the_shelf() -> None:
    loaded: list[str] = []

    def fake(name: str) -> object:
        loaded.append(name)
        return name

    shelf = Shelf(2, fake)  # type: ignore[arg-type]
    for name in ("a", "b", "a", "c", "a", "b"):
        assert shelf.get(name) == name
    assert loaded == ["a", "b", "c", "b"]
    assert sorted(shelf.names()) == ["a", "b"]
