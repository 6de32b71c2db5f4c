"""What all ways of decoding share: the cache, a given beginning, what is never written. `test_decoding_truth.py` holds
the searches themselves."""

import math

import pytest
import torch
from torch import Tensor

from model.anatomy.describe import anatomy_of
from model.decoding.strategies import (
    Beam,
    Decoding,
    Greedy,
    Hypothesis,
    NextToken,
    PrefixError,
    Sampling,
    beam_steps,
    decoding_steps,
    filter_logits,
)
from model.families.encoder_decoder import EncoderDecoder
from model.interventions import Block, Head, Interventions, RowEdit, Unit
from model.tap import Recorder, Tap, no_tap
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID
from tests.small import random_ids

STEPS = 7


@pytest.fixture
def source() -> Tensor:
    return random_ids(1, 5)


def next_token(model: EncoderDecoder, source: Tensor) -> NextToken:
    return NextToken(model, model.encode(source))


def row(model: EncoderDecoder, source: Tensor, prefix: tuple[int, ...]) -> Tensor:
    """Log-probabilities after a prefix, by one whole forward pass."""
    logs = model(source, torch.tensor([[SOS_ID, *prefix]]))[0, -1].log_softmax(-1)
    logs[[PAD_ID, SOS_ID]] = -math.inf
    return logs


def test_the_same_seed_draws_the_same_sentence_and_another_seed_another(model: EncoderDecoder, source: Tensor) -> None:
    def drawn(seed: int) -> tuple[int, ...]:
        *_, last = decoding_steps(next_token(model, source), Sampling(seed=seed, max_steps=STEPS))
        return last.best.ids

    assert drawn(3) == drawn(3)
    assert len({drawn(seed) for seed in range(5)}) > 1


def test_no_limit_leaves_nothing_out_though_the_first_rounds_up_to_one() -> None:
    """1 − 3·10⁻⁹ is 1 in single precision. What is left out has to be asked for."""
    log_probabilities = torch.tensor([-20.0, 0.0, -21.0]).log_softmax(-1)
    assert log_probabilities[1].exp() == 1
    assert (filter_logits(log_probabilities, temperature=1.0, top_k=0, top_p=1.0) > 0).all()
    assert (filter_logits(log_probabilities, temperature=1.0, top_k=0, top_p=0.9) > 0).tolist() == [False, True, False]


def test_decoding_with_and_without_a_cache_agree(model: EncoderDecoder, source: Tensor) -> None:
    """An intervention that changes nothing switches the cache off and must leave the beam as it is."""
    cached = list(decoding_steps(next_token(model, source), Beam(3, max_steps=STEPS)))
    uncached = NextToken(model, model.encode(source), lambda name, value: value)
    assert uncached.cache is None
    for one, two in zip(cached, decoding_steps(uncached, Beam(3, max_steps=STEPS)), strict=True):
        assert [h.ids for h in one.hypotheses] == [h.ids for h in two.hypotheses]


@pytest.mark.parametrize(
    ("tap", "asked", "kept"),
    [
        (no_tap, None, True),
        (Recorder(), None, False),
        (no_tap, False, False),
        (no_tap, True, True),
        (Recorder(), True, True),
        (Recorder(), False, False),
    ],
)
def test_a_cache_is_kept_if_asked_for_or_else_where_nothing_is_tapped(
    model: EncoderDecoder, source: Tensor, tap: Tap, asked: bool | None, kept: bool
) -> None:
    assert (NextToken(model, model.encode(source), tap, asked).cache is not None) == kept


CHANGES = (
    Interventions(heads_off=(Head("decoder", 0, 1), Head("cross", 1, 2))),
    Interventions(blocked=(1, 3)),
    Interventions(units_off=(Unit("decoder", 1, 17),), relu_off=(Block("decoder", 0, "feed_forward"),)),
    Interventions(blocks_off=(Block("decoder", 0, "self_attn"), Block("decoder", 1, "cross_attn"))),
    Interventions(scale_off=True),
    Interventions(positions_off=True),
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_with_a_change_inside_the_model_a_cache_gives_what_computing_anew_gives(
    model: EncoderDecoder, source: Tensor, change: Interventions
) -> None:
    assert change.cacheable
    tap = change.compile(anatomy_of(model))
    cached, anew = (NextToken(model, model.encode(source), tap, cached) for cached in (True, False))
    ids = random_ids(STEPS).tolist()
    for n in range(STEPS):
        prefixes = [tuple(ids[:n])]
        assert torch.allclose(cached.log_probabilities(prefixes), anew.log_probabilities(prefixes), atol=1e-5)


def test_a_change_that_reaches_what_is_settled_is_known() -> None:
    assert not Interventions(causal_mask_off=True).cacheable
    assert not Interventions(rows=(RowEdit(Head("decoder", 0, 1), 0, (1.0,)),)).cacheable


def test_no_control_token_is_ever_written(model: EncoderDecoder, source: Tensor) -> None:
    change = Interventions(positions_off=True).compile(anatomy_of(model))
    for tap_of in (lambda name, value: value, change):
        stepper = NextToken(model, model.encode(source), tap_of)
        for step in decoding_steps(stepper, Sampling(temperature=5.0, max_steps=STEPS)):
            assert not {PAD_ID, SOS_ID} & set(step.best.ids)


METHODS = (Greedy, Sampling, Beam)


@pytest.mark.parametrize("method", METHODS)
def test_a_given_beginning_is_kept_and_the_method_goes_on_from_it(
    model: EncoderDecoder, source: Tensor, method: type[Decoding]
) -> None:
    prefix = (41, 83, 67)
    steps = list(decoding_steps(next_token(model, source), method(max_steps=STEPS, prefix=prefix)))
    assert steps[-1].best.ids[:3] == prefix
    assert len(steps[-1].best.ids) > 3
    for t, step in enumerate(steps[:3]):
        expected = row(model, source, prefix[:t])
        assert step.best.ids == prefix[: t + 1]
        assert step.candidates[0].id == int(expected.argmax())  # the model's own, not what was given
    total = sum(row(model, source, prefix[:t])[prefix[t]].item() for t in range(3))
    assert steps[2].best.log_probability == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_given_end_ends_the_sentence_at_once(model: EncoderDecoder, source: Tensor, method: type[Decoding]) -> None:
    *_, last = decoding_steps(next_token(model, source), method(max_steps=STEPS, prefix=(41, EOS_ID)))
    assert last.best.ids == (41, EOS_ID)
    assert last.best.finished


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ((41, 101), "id 101 is not in the vocabulary of 101 entries"),
        ((-1,), "id -1 is not in the vocabulary"),
        ((PAD_ID,), "id 0 is a sign that is never written"),
        ((41, SOS_ID), "id 1 is a sign that is never written"),
        ((EOS_ID, 41), "nothing can follow id 2"),
        ((41,) * (STEPS + 1), "8 tokens are given, but a translation ends after 7"),
    ],
)
def test_what_no_translation_begins_with_is_refused(
    model: EncoderDecoder, source: Tensor, method: type[Decoding], prefix: tuple[int, ...], message: str
) -> None:
    with pytest.raises(PrefixError, match=message):
        list(decoding_steps(next_token(model, source), method(max_steps=STEPS, prefix=prefix)))


def test_a_beam_accounts_for_every_extension_it_looked_at(model: EncoderDecoder, source: Tensor) -> None:
    before: tuple[Hypothesis, ...] = ()
    for step in beam_steps(next_token(model, source), Beam(3, max_steps=STEPS)):
        ended = [h for h in step.finished if h not in before]
        looked_at = sorted((*step.hypotheses, *ended, *step.pruned), key=lambda h: -h.log_probability)
        assert len({h.ids for h in looked_at}) == len(looked_at) == 6
        assert step.hypotheses[-1].log_probability >= max(h.log_probability for h in step.pruned if not h.finished)
        before = step.finished
