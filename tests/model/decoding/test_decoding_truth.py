"""Every way of decoding with the shipped model, against searches that share no code with the project."""

from functools import cache

import numpy as np
import pytest
import torch

from model.decoding.strategies import Beam, Decoding, Greedy, NextToken, Sampling, Step, decoding_steps, filter_logits
from model.files.loaded_model import LoadedModel, load_folder
from model.text.tokenizer import EOS_ID
from model.trace import MAX_TOKENS
from tests.oracle.passes import decode
from tests.oracle.passes.decode import Writer
from tests.oracle.passes.forward import source_ids

SENTENCES = (
    "I ate an apple",
    "The black cat fights the white cat.",
    "I put my money in the bank.",
    "Peter plays the lead role in a Broadway show.",
)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_folder()


@cache
def writer(text: str) -> Writer:
    return Writer(text)


@torch.inference_mode()
def steps(loaded: LoadedModel, text: str, decoding: Decoding) -> list[Step]:
    src_ids = torch.tensor([source_ids(text)], device=loaded.device.torch)
    return list(decoding_steps(NextToken(loaded.model, loaded.model.encode(src_ids)), decoding))


def prefixes(text: str) -> list[tuple[int, ...]]:
    """No prefix, one that the model would not have chosen, and the end at once."""
    own = decode.greedy(writer(text))
    second = int(np.argsort(-writer(text).scores(own[:2]))[1])
    return [(), (*own[:2], second), (*own[:1], EOS_ID)]


@pytest.mark.parametrize("given", range(3))
@pytest.mark.parametrize("text", SENTENCES)
def test_greedy(loaded: LoadedModel, text: str, given: int) -> None:
    prefix = prefixes(text)[given]
    found = steps(loaded, text, Greedy(MAX_TOKENS, prefix))
    assert found[-1].best.ids == decode.greedy(writer(text), prefix)
    assert found[-1].best.log_probability == pytest.approx(writer(text).total(found[-1].best.ids), abs=1e-3)
    for t, step in enumerate(found):
        true = np.exp(writer(text).scores(found[-1].best.ids[:t]))
        assert [c.id for c in step.candidates] == np.argsort(-true)[:10].tolist()
        assert [c.probability for c in step.candidates] == pytest.approx(np.sort(true)[:-11:-1], abs=1e-4)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("given", range(3))
@pytest.mark.parametrize("text", SENTENCES[:3])
def test_beam(loaded: LoadedModel, text: str, given: int, size: int) -> None:
    prefix = prefixes(text)[given]
    search = decode.beam(writer(text), size, prefix)
    for alpha in (0.0, 0.6, 2.0):
        found = steps(loaded, text, Beam(size, alpha, MAX_TOKENS, prefix))
        assert found[-1].best.ids == search.best(alpha)
        if prefix[-1:] == (EOS_ID,):  # it was ended by hand: there is nothing to search
            continue
        assert {h.ids for h in found[-1].finished} == search.finished.keys()
        for hypothesis in found[-1].finished:
            total, length = search.finished[hypothesis.ids], len(hypothesis.ids)
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-3)
            assert hypothesis.score(alpha) == pytest.approx(decode.penalised(total, length, alpha), abs=1e-3)
        for step, kept in zip(found[len(prefix) :], search.kept, strict=True):
            assert {h.ids: pytest.approx(h.log_probability, abs=1e-3) for h in step.hypotheses} == kept


NARROWINGS = [
    (1.0, 0, 1.0),
    (0.7, 0, 1.0),
    (1.5, 0, 0.9),
    (1.0, 5, 1.0),
    (1.3, 7, 0.5),
    (0.0, 0, 1.0),
    (1.0, 0, 0.0),
    (1.0, 1, 1.0),
]
DRAWN = 12  # pieces: a hot sampler may never come to an end


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), NARROWINGS)
@pytest.mark.parametrize(("text", "given", "seed"), [(SENTENCES[0], 0, 7), (SENTENCES[0], 1, 0), (SENTENCES[2], 0, 3)])
def test_sampling(
    loaded: LoadedModel, text: str, given: int, seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    """The oracle's distribution with torch's own draw gives the same sentence for the same seed."""
    prefix = prefixes(text)[given]
    found = steps(loaded, text, Sampling(temperature, top_k, top_p, seed, DRAWN, prefix))
    generator, ids = torch.Generator().manual_seed(seed), prefix
    while ids[-1:] != (EOS_ID,) and len(ids) < DRAWN:
        true = decode.filter_logits(writer(text).scores(ids), temperature, top_k, top_p)
        own = filter_logits(torch.from_numpy(writer(text).scores(ids)).float(), temperature, top_k, top_p)
        np.testing.assert_allclose(own.numpy(), true, atol=1e-4)  # at the edge of top-p two may be equally likely
        ids = (*ids, int(torch.multinomial(torch.from_numpy(true).float(), 1, generator=generator)))
    assert found[-1].best.ids == ids
