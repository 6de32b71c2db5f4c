"""The one call that every page uses."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.build import build_model
from model.config import ModelConfig
from model.decoding.strategies import Beam, Greedy, Sampling
from model.files import checkpoint
from model.files.device import Device
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import Head, InterventionError, Interventions, RowEdit
from model.text.tokenizer import EOS_ID, SOS_ID, Tokenizer
from model.trace import MAX_TOKENS, EmptySentenceError, Trace, trace, unread


@pytest.fixture(scope="module")
def loaded(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder: Path = tmp_path_factory.mktemp("loaded")
    config = ModelConfig(tokenizer.vocab_size, d_model=42, n_heads=3, n_layers=2, d_ff=53)
    torch.manual_seed(5)
    checkpoint.save(folder, config, tokenizer, build_model(config).state_dict())
    return load_folder(folder, Device(torch.device("cpu"), "CPU"))


def same(one: Trace, two: Trace) -> bool:
    return one.labels == two.labels and all(np.array_equal(one.tensors[n], two.tensors[n]) for n in one.tensors)


def test_the_recorded_pass_shows_what_each_step_saw(loaded: LoadedModel) -> None:
    result = trace(loaded, "The cat sat.")
    assert len(result.steps) == len(result.labels)
    for step, probability, label in zip(result.steps, result.probabilities, result.labels, strict=True):
        chosen = next(c for c in step.candidates if c.id == label.id)
        assert chosen.probability == pytest.approx(probability, rel=1e-4)
    assert result.tgt[0].id == SOS_ID
    assert [t.id for t in result.tgt[1:]] == [t.id for t in result.labels[:-1]]


def test_a_given_target_is_read_not_written(loaded: LoadedModel) -> None:
    result = trace(loaded, "The cat sat.", target="Die Katze saß.")
    assert result.steps == ()
    assert result.translation == "Die Katze saß."
    ids = loaded.tokenizer.encode("Die Katze saß.")
    assert len(set(ids)) == len(ids)  # so that a shift shows
    assert (result.tgt_ids, result.label_ids) == ((SOS_ID, *ids), (*ids, EOS_ID))
    assert result.labels[-1].id == EOS_ID
    assert all(0 < p < 1 for p in result.probabilities)


def test_a_given_target_is_tidied_and_cut_and_ends(loaded: LoadedModel) -> None:
    result = trace(loaded, "The cat sat.", target="  Die “Katze”  saß. ")
    assert result.translation == 'Die "Katze" saß.'
    long = trace(loaded, "The cat sat.", target="Katze " * 300)
    assert len(long.labels) == MAX_TOKENS + 1
    assert long.labels[-1].id == EOS_ID
    assert long.finished


def test_a_translation_ends_at_the_limit_and_is_then_not_finished(loaded: LoadedModel) -> None:
    def keep_writing(tokens: int) -> Trace:
        return trace(loaded, "The cat sat.", decoding=Greedy(max_steps=tokens))

    assert len(keep_writing(3).labels) == 3
    assert not keep_writing(3).finished
    assert len(keep_writing(MAX_TOKENS + 20).labels) == MAX_TOKENS


def test_tensors_cannot_be_changed(loaded: LoadedModel) -> None:
    result = trace(loaded, "The cat.")
    with pytest.raises(ValueError, match="read-only"):
        result.tensors["logits"][0, 0] = 1
    with pytest.raises(TypeError):
        result.tensors["logits"] = result.tensors["logits"]  # type: ignore[index]


def test_what_is_recorded_outlives_the_pass(loaded: LoadedModel) -> None:
    """A trace holds its own numbers: it shares no memory with the model, nor one tensor of it with another."""
    tensors = trace(loaded, "The cat.", target="Die Katze.").tensors
    of_model = [value.numpy() for value in (*loaded.model.parameters(), *loaded.model.buffers())]
    for name, tensor in tensors.items():
        assert tensor.flags.owndata, name
        assert not any(np.shares_memory(tensor, value) for value in of_model), name


def test_the_bytes_of_every_tensor_are_counted(loaded: LoadedModel) -> None:
    """4 bytes a number; the masks are made of truth values, which take one."""
    result = trace(loaded, "The cat.", target="Die Katze.")
    sizes = [tensor.size * (1 if name.endswith("mask") else 4) for name, tensor in result.tensors.items()]
    assert result.nbytes == sum(sizes)


def test_nothing_to_translate_is_said(loaded: LoadedModel) -> None:
    for text in ("", "   ", "\n\t", "\x00\x07"):
        with pytest.raises(EmptySentenceError, match="type a sentence"):
            trace(loaded, text)


def test_a_long_text_is_cut_and_the_cut_counted(loaded: LoadedModel) -> None:
    text = "the cat sat " * 200
    result = trace(loaded, text, decoding=Greedy(3))
    n = len(loaded.tokenizer.encode(text.strip()))
    assert len(result.src) == MAX_TOKENS + 1
    assert result.n_cut == n - MAX_TOKENS
    assert text.startswith(result.text)
    assert loaded.tokenizer.encode(result.text) == [token.id for token in result.src[:-1]]
    assert len(result.text) < len(text) / 2
    for odd in ("I " + "\N{GRINNING FACE} " * 80, "a " * (MAX_TOKENS - 1) + "\N{GRINNING FACE} hello" * 9):
        taken = unread(loaded, odd)  # no part of a sign at its end, and no space: read again it is the same
        assert loaded.tokenizer.encode(taken.text) == [token.id for token in taken.src[:-1]]
        assert MAX_TOKENS - 5 <= len(taken.src) - 1 <= MAX_TOKENS
        assert taken.n_cut == len(loaded.tokenizer.encode(odd.strip())) - len(taken.src) + 1
    assert (unread(loaded, text).text, unread(loaded, text).n_cut) == (result.text, result.n_cut)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_text_gets_a_trace_or_is_called_empty(loaded: LoadedModel, text: str) -> None:
    try:
        result = trace(loaded, text, decoding=Greedy(3))
    except EmptySentenceError:
        with pytest.raises(EmptySentenceError):
            unread(loaded, text)
        return
    taken = unread(loaded, text)
    assert (taken.text, taken.n_cut, taken.src) == (result.text, result.n_cut, result.src)
    assert (taken.tgt, taken.steps, taken.finished) == ((), (), True)
    assert (taken.tensors, taken.labels, taken.translation) == ({}, (), ""), "nothing went through the model"
    assert len(result.labels) == len(result.tgt)
    rows = result.attention("cross", 0).sum(-1)
    assert np.allclose(rows, 1, atol=1e-5)


def test_a_typed_control_token_is_text(loaded: LoadedModel) -> None:
    result = trace(loaded, "<sos> <pad> <eos>", decoding=Greedy(3))
    assert [t.id for t in result.src].count(EOS_ID) == 1
    assert result.text == "<sos> <pad> <eos>"


def test_interventions_reach_the_recording_and_the_decoding(loaded: LoadedModel) -> None:
    change = Interventions(heads_off=tuple(Head("cross", layer, h) for layer in range(2) for h in range(3)))
    result = trace(loaded, "The cat.", interventions=change)
    assert not result.attention("cross", 0, "heads").any()
    # Without a look at the source every source gets the same translation.
    other = trace(loaded, "A dog sat.", interventions=change)
    assert result.labels == other.labels
    with pytest.raises(InterventionError):
        trace(loaded, "The cat.", interventions=Interventions(heads_off=(Head("cross", 2, 0),)))


@pytest.mark.parametrize(
    "change",
    [
        Interventions(causal_mask_off=True),
        Interventions(rows=(RowEdit(Head("decoder", 1, 2), 4, (0.0, 0.0, 0.0, 0.0, 1.0)),)),
        Interventions(rows=(RowEdit(Head("cross", 0, 1), 2, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),)),
    ],
    ids=str,
)
def test_a_change_that_reaches_back_is_computed_anew_at_every_step(loaded: LoadedModel, change: Interventions) -> None:
    """Beside a search written out: after each token the whole prefix goes through the changed model."""
    sentence = "The cat sat."
    tap = change.compile(loaded.anatomy)
    result = trace(loaded, sentence, decoding=Greedy(8), interventions=change)
    src_ids = torch.tensor([[t.id for t in result.src]])
    prefix: list[int] = []
    with torch.inference_mode():
        for step in result.steps:
            logits = loaded.model(src_ids, torch.tensor([[SOS_ID, *prefix]]), tap)[0, -1]
            expected = logits.softmax(-1)[step.candidates[0].id].item()
            assert step.candidates[0].probability == pytest.approx(expected, rel=1e-4)
            prefix = list(step.best.ids)


def test_eight_threads_get_what_each_gets_alone(loaded: LoadedModel) -> None:
    sentences = [f"The cat number {n} sat." for n in range(8)]
    methods = [Greedy(5), Beam(3, max_steps=5), Sampling(seed=3, max_steps=5)]
    alone = [trace(loaded, s, decoding=methods[i % 3]) for i, s in enumerate(sentences)]
    wrong: list[int] = []
    barrier = threading.Barrier(8)

    def work(i: int) -> None:
        barrier.wait()
        for _ in range(20):
            again = trace(loaded, sentences[i], decoding=methods[i % 3])
            wrong.extend([] if same(again, alone[i]) else [i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
