"""Every family of models, made on the spot: what the app shows is what transformers itself computes."""

import json
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from figures.grouping import Group
from hub.attention import AttentionMaps
from hub.export.folder import export
from hub.hugging_face import OpenModel, kind_of, load
from hub.local_models import ModelError, Settings
from hub.open_models import READING_BYTES, Shelf
from hub.reading import N_PREDICTIONS, NO_MAPS, NO_PIECE, SEES_ALL, _in_bytes, _texts, _words, read
from hub.reading_types import MAX_TEXT
from model.files.loaded_model import load_folder
from model.trace import trace
from tests.hub.small_models import FAMILIES, SIZES, InThisProcess, byte_level, make
from tests.oracle.passes import foreign
from ui.views.attention_kinds import groups_of
from ui.views.external_models import shown_groups

SENTENCE = "The black cat fights the white cat."


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    root = tmp_path_factory.mktemp("models")
    for family in FAMILIES:
        make(family, root / family)
    return Settings(root, downloads=False, kept=2)


@pytest.mark.parametrize("text", [SENTENCE, "catblackcat"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_reading_is_that_of_the_library(
    family: str, text: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALKTHROUGH_MODELS", str(settings.root))
    opened = load(family, settings)
    hidden = 2 if opened.kind == "encoder" else None
    found, theirs = read(opened, text, hidden), foreign.reading(family, text, hidden)
    assert found.tokens == tuple(piece.text for piece in theirs.pieces)
    assert found.maps[0].row_words == tuple(piece.word for piece in theirs.pieces)
    assert (found.n_cut, found.written.strip()) == (0, theirs.written.strip())
    assert [maps.kind for maps in found.maps] == [maps.kind for maps in theirs.maps]
    for maps, expected in zip(found.maps, theirs.maps, strict=True):
        assert np.allclose(maps.weights, expected.weights, atol=1e-6)
        assert maps.rows == tuple(piece.text for piece in expected.rows)
        assert maps.columns == tuple(piece.text for piece in expected.columns)
    best = np.sort(theirs.predicted)[::-1][:N_PREDICTIONS]
    assert [one.probability for one in found.predictions] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sentence_longer_than_the_model_takes_is_cut(family: str, settings: Settings) -> None:
    opened = load(family, settings)
    reading = read(opened, SENTENCE * 40)
    assert len(reading.tokens) == opened.longest
    assert reading.n_cut > 0


def word_groups(maps: AttentionMaps, without_special: bool = False) -> list[Group]:
    """The rows of a map, grouped into words as the pages do it."""
    return shown_groups(maps.rows, maps.row_words, maps.row_wholes, True, without_special)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "llama", "t5", "marian"])
def test_a_word_is_shown_as_it_was_written(family: str, settings: Settings) -> None:
    reading = read(load(family, settings), "The river fights basketball")
    rows = word_groups(reading.maps[0], without_special=True)
    assert [row.label for row in rows] == ["The", "river", "fights", "basketball"]
    assert not [token for token in reading.tokens if "▁" in token or "Ġ" in token]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_bytes_are_in_hexadecimal_and_make_words(family: str, settings: Settings) -> None:
    reading = read(load(family, settings), "cat 🐶")
    assert reading.tokens[-4:] == ("‹F0›", "‹9F›", "‹90›", "‹B6›")
    rows = word_groups(reading.maps[0], without_special=True)
    assert [row.label for row in rows] == ["cat", "🐶"]


@pytest.mark.parametrize(("family", "shown"), [("gpt2", "‹F0 9F›"), ("t5", "ðŁ"), ("llama", "ðŁ")])
def test_letters_mean_bytes_in_a_byte_level_vocabulary_alone(family: str, shown: str, settings: Settings) -> None:
    assert _in_bytes(load(family, settings).tokenizer, "ðŁ") == shown


def test_words_are_told_by_signs_where_the_tokenizer_knows_none(settings: Settings) -> None:
    reading = read(load("llama", settings), "I ate a café, you 🐶.")
    labels = [row.label for row in word_groups(reading.maps[0], without_special=True)]
    assert labels == ["I", "ate", "a", "café", ",", "you", "🐶", "."]


def test_what_goes_on_with_a_word_says_so_in_wordpiece(settings: Settings) -> None:
    """A model that writes has no sentence whose words the tokenizer could tell."""
    tokenizer = load("bert", settings).tokenizer
    encoded = tokenizer("He fights basketballs in the river.")
    words = encoded.word_ids(0)
    assert _words(tokenizer, encoded.input_ids) == tuple(-1 if word is None else word for word in words)


def test_a_decoder_goes_on_with_the_sentence_and_not_behind_its_end(settings: Settings, tmp_path: Path) -> None:
    folder = shutil.copytree(settings.root / "gpt2", tmp_path / "gpt2")
    byte_level(ends=True).save_pretrained(folder)
    opened = load("gpt2", Settings(tmp_path, False, 1))
    ids = opened.tokenizer(SENTENCE).input_ids
    assert opened.tokenizer.convert_ids_to_tokens(ids[-1]) == "</s>"
    reading = read(opened, SENTENCE)
    assert (reading.tokens[0], len(reading.tokens), reading.n_cut) == ("<s>", len(ids) - 1, 0)
    with torch.inference_mode():
        best = opened.model(input_ids=torch.tensor([ids[:-1]])).logits[0, -1].double().softmax(-1).max()
    assert reading.predictions[0].probability == pytest.approx(float(best), abs=1e-9)


def test_an_id_that_the_vocabulary_lacks_is_no_piece(settings: Settings) -> None:
    tokenizer = load("gpt2", settings).tokenizer
    assert _texts(tokenizer, [len(tokenizer) + 7]) == (NO_PIECE,)


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
    own = trace(load_folder(), SENTENCE)
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
        ({"model_type": "xlm", "architectures": ["XLMWithLMHeadModel"]}, "encoder"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "encoder-decoder"),
        ({"model_type": "bart", "architectures": ["BartForCausalLM"], "is_encoder_decoder": False}, "decoder"),
    ],
)
def test_which_family_a_configuration_belongs_to(config: dict[str, object], kind: str) -> None:
    assert kind_of(config) == kind


@pytest.mark.parametrize("model_type", ["vit", "clip", "", "no-such-type"])
def test_what_is_no_language_model_is_refused(model_type: str) -> None:
    with pytest.raises(ModelError, match="not a language model"):
        kind_of({"model_type": model_type})


def test_a_model_without_its_head_shows_attention_and_predicts_nothing(settings: Settings, tmp_path: Path) -> None:
    opened = load("bert", settings)
    opened.model.bert.save_pretrained(tmp_path / "bare")
    opened.tokenizer.save_pretrained(tmp_path / "bare")
    bare = load("bare", Settings(tmp_path, False, 1))
    assert not bare.predicts
    assert bare.facts.n_parameters == sum(
        weight.numel() for weight in load_file(tmp_path / "bare" / "model.safetensors").values()
    )
    reading = read(bare, SENTENCE, hidden=2)
    assert reading.predictions == ()
    assert np.allclose(reading.maps[0].weights, read(opened, SENTENCE, hidden=2).maps[0].weights, atol=1e-6)


@pytest.mark.parametrize(
    ("family", "weight"),
    [
        ("t5", "encoder.block.1.layer.0.SelfAttention.q.weight"),  # its class names a base model that it does not have
        ("bart", "model.decoder.layers.0.fc1.weight"),
    ],
)
def test_random_weights_in_a_model_are_not_shown(family: str, weight: str, settings: Settings, tmp_path: Path) -> None:
    file = shutil.copytree(settings.root / family, tmp_path / family) / "model.safetensors"
    weights = load_file(file)
    del weights[weight]
    save_file(weights, file)
    with pytest.raises(ModelError, match=f"1 parts of the model are missing, {weight} among them"):
        load(family, Settings(tmp_path, False, 1))


def test_the_least_used_model_leaves_the_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch, a=1, b=1, c=1)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert room.shelf.facts(name).name == name
    assert room.loaded == ["a", "b", "c", "b"]
    assert sorted(room.shelf.names()) == ["a", "b"]


def unsound(name: str, settings: Settings, tmp_path: Path, **files: dict[str, object]) -> OpenModel:
    """A copy of a model with changes in its JSON files, opened."""
    folder = shutil.copytree(settings.root / name, tmp_path / name)
    for stem, changes in files.items():
        path = folder / f"{stem}.json"
        path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | changes))
    return load(name, Settings(tmp_path, False, 1))


@pytest.mark.parametrize(
    ("family", "files", "says"),
    [
        ("bert", {"config": {"num_attention_heads": -3}}, "fails on this sentence"),
        ("bert", {"config": {"chunk_size_feed_forward": 7}}, "fails on this sentence"),
        ("bert", {"config": {"layer_norm_eps": float("nan")}}, "not finite numbers"),
        ("bert", {"tokenizer_config": {"model_max_length": 1}}, "too few for a sentence"),
        ("t5", {"generation_config": {"decoder_start_token_id": 10**9}}, "fails on this sentence"),
        ("gpt2", {"generation_config": {"eos_token_id": "evil"}}, "fails on this sentence"),
    ],
)
def test_what_an_unsound_model_fails_at_is_said(
    family: str, files: dict[str, dict[str, object]], says: str, settings: Settings, tmp_path: Path
) -> None:
    opened = unsound(family, settings, tmp_path, **files)
    with pytest.raises(ModelError, match=says):
        read(opened, SENTENCE)


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (hf.MambaForCausalLM, hf.MambaConfig(hidden_size=24, state_size=5, time_step_rank=3, num_hidden_layers=2)),
        (hf.RwkvForCausalLM, hf.RwkvConfig(hidden_size=24, num_hidden_layers=2)),
        (hf.FNetForMaskedLM, hf.FNetConfig(hidden_size=24, num_hidden_layers=2, intermediate_size=48)),
        (hf.LongformerForMaskedLM, hf.LongformerConfig(**SIZES | {"vocab_size": 330}, attention_window=4)),
        (hf.BigBirdForMaskedLM, hf.BigBirdConfig(**SIZES | {"vocab_size": 330})),
    ],
    ids=lambda one: getattr(one, "model_type", ""),
)
def test_a_kind_without_a_weight_for_every_pair_says_so(model: Any, config: Any, tmp_path: Path) -> None:
    config.vocab_size = 330
    model(config).save_pretrained(tmp_path / "one")
    byte_level(ends=True).save_pretrained(tmp_path / "one")
    opened = load("one", Settings(tmp_path, False, 1))
    with pytest.raises(ModelError, match=f"^{NO_MAPS}$"):
        read(opened, SENTENCE)


def test_a_decoder_that_looks_at_what_follows_is_none(settings: Settings, tmp_path: Path) -> None:
    opened = unsound("bert", settings, tmp_path, config={"architectures": ["BertLMHeadModel"]})
    with pytest.raises(ModelError, match=f"^{SEES_ALL}$"):
        read(opened, SENTENCE)


def test_a_model_without_an_end_of_its_positions_reads_as_far_as_the_page(settings: Settings, tmp_path: Path) -> None:
    """XLNet's configuration says −1."""
    opened = unsound("t5", settings, tmp_path, config={"max_position_embeddings": -1})
    assert opened.longest == opened.tokenizer.model_max_length == 64
    assert read(opened, SENTENCE).written == read(load("t5", settings), SENTENCE).written


def test_ids_beyond_the_vocabulary_are_said(settings: Settings, tmp_path: Path) -> None:
    tokenizer = json.loads((settings.root / "bert" / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {token: id + 10**6 for token, id in tokenizer["model"]["vocab"].items()}
    with pytest.raises(ModelError, match="fails on this sentence"):
        read(unsound("bert", settings, tmp_path, tokenizer=tokenizer), SENTENCE)


@pytest.mark.parametrize("family", ["gpt2", "t5"])
@pytest.mark.parametrize(
    "changes",
    [
        {"penalty_alpha": 0.6, "top_k": 4},
        {"stop_strings": ["x"]},
        {"cache_implementation": "quantized"},
        {"num_return_sequences": 5},
        {"return_dict_in_generate": True},
        {"assistant_early_exit": 1},
        {"custom_generate": "evil/repo"},
        {"dola_layers": "high"},
    ],
)
def test_how_a_model_goes_on_is_not_its_choice(
    changes: dict[str, object], family: str, settings: Settings, tmp_path: Path
) -> None:
    opened = unsound(family, settings, tmp_path, generation_config=changes)
    assert read(opened, SENTENCE).written == read(load(family, settings), SENTENCE).written


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_weights_that_are_no_numbers_are_said(value: float, settings: Settings, tmp_path: Path) -> None:
    folder = shutil.copytree(settings.root / "bert", tmp_path / "bert")
    weights = {name: torch.full_like(w, value) for name, w in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match="not finite numbers"):
        read(load("bert", Settings(tmp_path, False, 1)), SENTENCE)


def test_a_long_token_is_cut_and_no_mask_token_covers_nothing(settings: Settings, tmp_path: Path) -> None:
    tokenizer = json.loads((settings.root / "bert" / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["x" * 100_000] = vocabulary.pop("cat")
    opened = unsound("bert", settings, tmp_path, tokenizer=tokenizer, tokenizer_config={"mask_token": None})
    reading = read(opened, "x" * 99 + " cat", hidden=1)
    assert reading.predictions == ()
    opened.tokenizer.convert_ids_to_tokens = lambda id: "x" * 100_000  # type: ignore[method-assign,assignment]
    assert max(map(len, read(opened, "cat").tokens)) <= MAX_TEXT


class Room:
    """Models that have as many parameters as they are told, and memory for ten."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **needed: int) -> None:
        self.shelf = Shelf(2, self.load)  # type: ignore[arg-type]
        self.needed = needed
        self.loaded: list[str] = []
        for module in ("local_models", "open_models"):
            monkeypatch.setattr(f"hub.{module}.free_memory", self.free)

    def free(self) -> int:
        return 40 - sum(4 * self.needed[name] for name in self.shelf._models)

    def load(self, name: str, make_room: Callable[[int], None]) -> object:
        if name not in self.needed:
            raise ModelError("damaged")
        make_room(4 * self.needed[name])
        self.loaded.append(name)
        facts = SimpleNamespace(name=name, n_parameters=self.needed[name])
        return SimpleNamespace(facts=facts, closed=False, busy=False, close=lambda: None)


def test_a_model_that_cannot_be_opened_drives_out_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(monkeypatch, a=3, b=4, large=8, huge=11)
    for name in ("a", "b"):
        room.shelf.facts(name)
    with pytest.raises(ModelError, match="damaged"):
        room.shelf.facts("broken")
    with pytest.raises(ModelError, match="GB of memory"):
        room.shelf.facts("huge")
    assert sorted(room.shelf.names()) == ["a", "b"]
    room.shelf.facts("large")
    assert room.shelf.names() == ["large"]


def test_a_loaded_model_need_not_wait_for_one_that_loads(settings: Settings) -> None:
    loading, go_on = threading.Event(), threading.Event()

    def slow(name: str, make_room: Callable[[int], None]) -> InThisProcess:
        if name == "t5":
            loading.set()
            assert go_on.wait(30)
        return InThisProcess(name, settings, make_room)

    shelf = Shelf(2, slow)
    first = shelf.read("bert", SENTENCE)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(shelf.read, "t5", SENTENCE)
        assert loading.wait(30)
        assert shelf.read("bert", SENTENCE) is first
        assert shelf.read("bert", "cat").tokens[1] == "cat"
        go_on.set()
        assert other.result(30).predictions
    assert sorted(shelf.names()) == ["bert", "t5"]


def test_readings_are_forgotten_by_their_size(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hub.open_models.READINGS_BYTES", 10 * READING_BYTES)
    shelf = Shelf(1, lambda name, make_room: InThisProcess(name, settings, make_room))
    for n in range(30):
        shelf.read("bert", f"cat {n}")
    assert len(shelf._readings) < 10
