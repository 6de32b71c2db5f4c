"""The search by several models: beside greedy decoding, beside all targets there are, and beside itself."""

import functools
import itertools
import math
from dataclasses import replace

import pytest
import torch

from experiments.writing.batched_translation import translate_together
from model.build import build_model
from model.families.network import Network
from model.files.checkpoint import SHIPPED
from model.files.loaded_model import load_folder
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID
from tests.small import CONFIG
from training.distilling import beam
from training.distilling.beam import LENGTH_PENALTY, search, translate_by_several
from training.distilling.synthetic_pairs import is_sensible

SENTENCES = ["I ate an apple.", "Where do you live?", "No.", "The boy sees the girl, and the girl sees the boy."]
SOURCES = [[5, 6, 7, EOS_ID], [8, EOS_ID], [9, 10, 3, 4, 6, EOS_ID]]


def model_of(seed: int) -> Network:
    """A random model whose decoder is steeper than it was drawn: else it would write one piece again and again."""
    torch.manual_seed(seed)
    model = build_model(replace(CONFIG, vocab_size=11, n_layers=1, norm_place="pre")).eval()
    for weights in model.decoder.parameters():
        weights.data *= 3 if weights.dim() > 1 else 1
    return model.requires_grad_(False)


def probabilities(models: list[Network], source: list[int], target: tuple[int, ...]) -> torch.Tensor:
    """Of what follows the target, by the mean of the models."""
    src_ids, tgt_ids = torch.tensor([source]), torch.tensor([[SOS_ID, *target]])
    return torch.stack([model(src_ids, tgt_ids)[0, -1].softmax(-1) for model in models]).mean(0)


def test_with_one_beam_it_writes_what_greedy_decoding_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_folder(SHIPPED)
    expected = translate_together(loaded, SENTENCES)
    assert translate_by_several([loaded], SENTENCES, 1) == expected
    monkeypatch.setattr(beam, "GROUP", 3)
    assert translate_by_several([loaded], SENTENCES, 1) == expected


def test_a_model_with_itself_writes_what_it_writes_alone() -> None:
    loaded = load_folder(SHIPPED)
    alone = translate_by_several([loaded], SENTENCES, 4)
    assert translate_by_several([loaded, loaded], SENTENCES, 4) == alone
    assert all(map(is_sensible, SENTENCES, alone))


def test_two_models_write_by_the_mean_of_their_probabilities() -> None:
    models = [model_of(1), model_of(2)]
    written = search(models, SOURCES, 1)
    for source, ids in zip(SOURCES, written, strict=True):
        for n, id in enumerate(ids):
            mean = probabilities(models, source, tuple(ids[:n]))
            mean[[PAD_ID, SOS_ID]] = 0
            assert id == mean.argmax()
    for model in models:
        assert search([model], SOURCES, 1) != written


@pytest.mark.parametrize("seed", range(9))
def test_with_room_for_all_it_finds_the_best_of_all(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Of all targets of at most two pieces and `<eos>`, each marked by itself. Any that ends beats all that do not."""
    monkeypatch.setattr(beam, "MAX_TOKENS", most := 3)
    models = [model_of(2 * seed), model_of(2 * seed + 1)]
    ended = [(*ids, EOS_ID) for n in range(most) for ids in itertools.product(range(EOS_ID + 1, 11), repeat=n)]
    of_prefix = functools.cache(lambda row, ids: probabilities(models, SOURCES[row], ids).double())

    def mark(row: int, ids: tuple[int, ...]) -> float:
        total = sum(math.log(of_prefix(row, ids[:n])[id]) for n, id in enumerate(ids))
        return total / ((5 + len(ids)) / 6) ** LENGTH_PENALTY

    for row, ids in enumerate(search(models, SOURCES, 9**most)):
        best = max(ended, key=functools.partial(mark, row))
        assert tuple(id for id in ids if id != PAD_ID) == best


def test_what_has_no_pieces_or_too_many_is_not_translated() -> None:
    loaded = load_folder(SHIPPED)
    assert translate_by_several([loaded], ["", "dog " * 101, "No."], 2) == ["", "", "Nein."]
    assert translate_by_several([loaded], [], 2) == []


def test_what_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam, "MAX_TOKENS", 7)
    endless = model_of(5)
    decode = endless.decode

    def decoded(*args: object) -> torch.Tensor:
        logits = decode(*args)  # type: ignore[arg-type]
        logits[..., EOS_ID] = -math.inf
        return logits

    monkeypatch.setattr(endless, "decode", decoded)
    assert [len(ids) for ids in search([endless], SOURCES, 3)] == [7] * 3
