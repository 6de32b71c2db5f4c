"""The three readers: what they promise, and what becomes of them on disk."""

from pathlib import Path

import pytest
import torch
from numpy.testing import assert_allclose
from safetensors.torch import load_file
from torch import Tensor

from model.families.readers import (
    READERS,
    Readers,
    ReadersConfig,
    learned_distances,
    load_readers,
    named_tokens,
    ranks,
    remembered,
    save_readers,
    trace_readers,
    untrained_readers,
)
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import LoadedModel
from model.tap import Recorder
from tests.model.test_tap import documented_taps
from tests.oracle.passes import readers as oracle

CONFIG = ReadersConfig(vocab_size=43, d_model=14, max_len=29)
B, T = 3, 7


@pytest.fixture
def readers() -> Readers:
    return Readers(CONFIG)


@pytest.fixture
def loaded(readers: Readers, tmp_path: Path) -> LoadedModel:
    for parameter in readers.parameters():  # at 0 and 1 a bias could stand for another unseen
        torch.nn.init.normal_(parameter, std=0.3)
    save_readers(tmp_path, CONFIG, readers)
    return load_readers(tmp_path)


@pytest.fixture
def ids() -> Tensor:
    return torch.randint(CONFIG.vocab_size, (B, T))


def test_the_documented_taps_pass(readers: Readers, ids: Tensor) -> None:
    recorder = Recorder()
    readers(ids, "attention", recorder)
    own = documented_taps(type(readers.attention), readers.attention)
    assert set(recorder.tensors) == {"tokens", "attention.logits", *(f"attention.{tap}" for tap in own)}
    for name in ("rnn", "lstm"):
        recorder = Recorder()
        readers(ids, name, recorder)
        own = documented_taps(type(getattr(readers, name).cell))
        steps = {f"{name}.steps.{t}.{tap}" for tap in own for t in range(T)}
        assert set(recorder.tensors) == {"tokens", f"{name}.logits"} | steps


def without_positions(name: str, value: Tensor) -> Tensor:
    return torch.zeros_like(value) if name == "attention.positions" else value


def test_attention_cannot_tell_the_order_without_positions(readers: Readers) -> None:
    one, other = torch.tensor([[5, 6, 7, 8, 2]]), torch.tensor([[7, 6, 5, 8, 2]])
    for name in READERS:
        first, second = (readers(ids, name, Recorder(without_positions)) for ids in (one, other))
        assert torch.allclose(first, second, atol=1e-6) == (name == "attention")
    assert not torch.allclose(readers(one, "attention"), readers(other, "attention"), atol=1e-3)


def test_an_odd_width_is_named() -> None:
    with pytest.raises(ValueError, match=r"^d_model=7 is odd; sines and cosines come in pairs$"):
        ReadersConfig(d_model=7)


def test_saved_and_loaded_they_read_alike(readers: Readers, ids: Tensor, tmp_path: Path) -> None:
    save_readers(tmp_path, CONFIG, readers)
    assert {weight.dtype for weight in load_file(tmp_path / "model.safetensors").values()} == {torch.float16}
    loaded = load_readers(tmp_path)
    assert loaded.config == CONFIG
    network = loaded.model
    assert not any(parameter.requires_grad for parameter in network.parameters())
    for name in READERS:
        torch.testing.assert_close(network(ids, name), readers(ids, name), atol=0.02, rtol=0.02)  # fp16 on disk


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.safetensors", None, r"The model file \S*model\.safetensors is missing\. .*git checkout"),
        ("model.safetensors", b"no weights", r"model\.safetensors cannot be read"),
        ("config.json", None, r"config\.json is missing"),
        ("config.json", b'{"d_model": 7}', r"config\.json cannot be read \(d_model=7 is odd"),
        ("config.json", b'{"vocab_size": 44, "d_model": 14, "max_len": 29}', r"model\.safetensors cannot be read"),
    ],
)
def test_a_broken_folder_is_told_in_one_sentence(
    readers: Readers, tmp_path: Path, file: str, content: bytes | None, message: str
) -> None:
    save_readers(tmp_path, CONFIG, readers)
    (tmp_path / file).unlink() if content is None else (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load_readers(tmp_path)


def test_untrained_readers_are_always_the_same_and_draw_from_nobody_elses_numbers() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, other = untrained_readers(CONFIG), untrained_readers(CONFIG)
    assert torch.equal(torch.rand(3), expected)
    for name, weight in one.state_dict().items():
        assert torch.equal(other.state_dict()[name], weight)
    assert not torch.equal(untrained_readers(CONFIG, seed=2).embedding.weight, one.embedding.weight)


IDS = (5, 17, 23, 5, 40, 41, 2)


def test_every_value_of_a_reading(loaded: LoadedModel) -> None:
    trace, x = trace_readers(loaded, "a text", IDS), oracle.embeddings(loaded.weights, list(IDS))
    expected = {"tokens": x}
    for name, reader in oracle.READERS.items():
        expected |= {f"{name}.{tap}": value for tap, value in reader(loaded.weights, x).items()}
        expected[f"{name}.logits"] = oracle.logits(loaded.weights, list(IDS), name)
    for tap, value in expected.items():
        assert_allclose(trace.tensors[tap], value, atol=1e-5, err_msg=tap)
    assert [token.id for token in trace.src] == list(IDS)


def test_the_anatomy_knows_every_value_but_logits_and_gradients(loaded: LoadedModel) -> None:
    trace, made = trace_readers(loaded, "a text", IDS), loaded.anatomy.tensors
    others = {f"{name}.{what}" for name in READERS for what in ("logits", "gradients")}
    assert made.keys() | others == trace.tensors.keys()
    sizes = {"src": len(IDS), "d_model": CONFIG.d_model, "d_k": CONFIG.d_model, "head": 1}
    for name, one in made.items():
        if name != "lstm.pre_activation":
            assert trace.tensors[name].shape == tuple(sizes[axis] for axis in one.axes), name
        assert all(read in made for read in one.reads), name
        assert all(weight in loaded.weights for weight in one.weights), name


def test_the_shipped_readers_have_the_sizes_that_training_takes() -> None:
    assert load_readers().config == ReadersConfig()


@pytest.mark.parametrize("content", [None, "{", "no figures"])
def test_figures_that_cannot_be_read_are_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    monkeypatch.setattr("model.families.readers.SHIPPED", tmp_path)
    if content is not None:
        (tmp_path / "distances.json").write_text(content)
    learned_distances.cache_clear()
    try:
        with pytest.raises(CheckpointError, match=r"distances\.json (is missing|cannot be read .*)\. .*git checkout"):
            learned_distances()
    finally:
        learned_distances.cache_clear()


def test_ranks_and_memory_by_hand() -> None:
    """Entry 4 scores best, then 1, 0, 3, 2. A text of three tokens, two of them the same: two places count."""
    logits, ids = torch.tensor([[0.3, 0.5, 0.0, 0.1, 0.9]]), torch.tensor([[4, 0, 4, 2]])
    assert ranks(logits, ids).tolist() == [[0, 2, 0]]
    assert remembered(logits, ids).tolist() == [[True, False, True]]
    assert remembered(logits, torch.tensor([[4, 0, 1, 2]])).tolist() == [[True, True, True]]


def test_different_tokens_are_counted_once(loaded: LoadedModel) -> None:
    read = trace_readers(loaded, "a text", IDS)
    for name in READERS:
        assert named_tokens(read, name) == oracle.named(loaded.weights, list(IDS), name)


def test_gradients_against_complex_steps(loaded: LoadedModel) -> None:
    tensors = trace_readers(loaded, "a text", IDS).tensors
    for name in READERS:
        expected = oracle.gradients(loaded.weights, list(IDS), name)
        assert_allclose(tensors[f"{name}.gradients"], expected, rtol=1e-4)
