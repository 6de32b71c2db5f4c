"""All combinations of the parts that a config can name: they build, run, run with a cache, and tell what they tap."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from model import build
from model.anatomy.describe import anatomy_of
from model.build import build_model
from model.config import ADDED_TO_PAIRS, CHOICES, WITHOUT_PAIRS, ModelConfig
from model.decoding.strategies import Beam, Greedy, NextToken, decoding_steps
from model.families.encoder_decoder import EncoderDecoder
from model.interventions import Interventions
from model.parts.layers import Memory
from model.parts.norms import RMSNorm
from model.tap import Recorder
from model.text.tokenizer import Tokenizer
from model.trace import most_tokens, trace
from model.translate import translate
from tests.small import CONFIG, SENTENCES, random_ids, small_loaded

TINY = replace(CONFIG, d_model=12, n_layers=1, d_ff=11)
COMBINATIONS = [
    parts
    for parts in itertools.product(*CHOICES.values())
    if (parts[0] not in ADDED_TO_PAIRS or parts[4] not in WITHOUT_PAIRS)
    # Experts have ReLU. They and the newer attentions care little for the norm: it is tried at one place beside them.
    and (parts[5] == "position_wise" or parts[3] == "relu")
    and (parts[4:] == ("multi_head", "position_wise") or parts[1:3] == ("rms", "sandwich"))
]


def named(parts: tuple[str, ...]) -> ModelConfig:
    return replace(TINY, **dict(zip(CHOICES, parts, strict=True)))  # type: ignore[arg-type]


def test_a_part_that_is_not_there_is_named_with_those_that_are() -> None:
    for name, choices in CHOICES.items():
        with pytest.raises(ValueError, match=rf"^there is no {name}='batch'; choose one of {', '.join(choices)}$"):
            ModelConfig(**{name: "batch"})


def test_what_does_not_fit_is_named() -> None:
    for attention, positions in itertools.product(WITHOUT_PAIRS, ADDED_TO_PAIRS):
        with pytest.raises(ValueError, match=f"^attention='{attention}' has no scores of all pairs to add"):
            ModelConfig(attention=attention, positions=positions)
    for kind in ("experts", "experts_top_2"):
        with pytest.raises(ValueError, match=r"^experts have activation='relu', not 'gelu'$"):
            ModelConfig(feed_forward=kind, activation="gelu")
    with pytest.raises(ValueError, match=r"^reach=-1 is negative$"):
        ModelConfig(reach=-1)


def test_build_knows_the_choices_and_no_others() -> None:
    norms = (build.POSITIONS, build.NORMS, build.PLACES)
    tables = (*norms, build.NETWORKS, build.ATTENTIONS, build.FEED_FORWARDS)
    assert [tuple(table) for table in tables] == list(CHOICES.values())


@pytest.mark.slow  # hundreds of models
def test_every_combination_runs_with_a_cache_as_without_and_taps_what_it_tells() -> None:
    src_ids, tgt_ids, rows = random_ids(3, 5), random_ids(3, 4), torch.tensor([2, 0])
    for parts in COMBINATIONS:
        model, recorder = build_model(named(parts)).eval(), Recorder()
        with torch.no_grad():
            whole, cache = model(src_ids, tgt_ids, recorder), model.new_cache()
            memory = model.encode(src_ids)
            begun = model.decode(tgt_ids[:, :3], memory, cache)
            cache.select(rows)
            last = model.decode(tgt_ids[rows], Memory(*(part[rows] for part in memory)), cache)
        assert_close(begun, whole[:, :3], atol=1e-5, rtol=1e-5)
        assert_close(last, whole[rows, 3:], atol=1e-5, rtol=1e-5, msg=lambda m, parts=parts: f"{parts}: {m}")
        assert recorder.tensors.keys() == anatomy_of(model).tensors.keys(), parts
        assert whole.isfinite().all()


def test_gated_networks_have_as_many_parameters_as_others() -> None:
    sizes = {
        activation: sum(p.numel() for p in build_model(ModelConfig(activation=activation)).parameters())
        for activation in CHOICES["activation"]
    }
    assert sizes["swiglu"] == sizes["geglu"]
    assert len(set(sizes.values())) == 2
    assert sizes["swiglu"] == pytest.approx(sizes["relu"], rel=0.001)


def test_norms_have_the_epsilon_of_layer_norm() -> None:
    for norm in CHOICES["norm"]:
        model = build_model(replace(TINY, norm=norm, norm_place="sandwich"))
        norms = [part for part in model.modules() if isinstance(part, nn.LayerNorm | RMSNorm)]
        assert {part.eps for part in norms} == {1e-5}
        assert len(norms) == 2 * (2 + 3) + 2


def scrambled(positions: str) -> EncoderDecoder:
    """A model whose tables are not nearly 0, as fresh ones are."""
    model = build_model(replace(TINY, positions=positions)).eval()
    for name, parameter in model.named_parameters():
        if ".positions." in name:
            nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize("positions", CHOICES["positions"])
def test_without_positions_the_order_of_the_source_is_lost(positions: str) -> None:
    """With any scheme two orders of the source differ; without one, or with it switched off, they do not."""
    model, src_ids, tgt_ids = scrambled(positions), random_ids(1, 6), random_ids(1, 4)
    off = Interventions(positions_off=True)

    def differ(change: Interventions) -> bool:
        tap = change.compile(anatomy_of(model))
        one, other = (model.encode(ids, tap).states.mean(1) for ids in (src_ids, src_ids[:, [2, 0, 1, 5, 3, 4]]))
        return not torch.allclose(one, other, atol=1e-5)

    assert differ(Interventions()) == (positions != "none")
    assert not differ(off)
    assert model(src_ids, tgt_ids, off.compile(anatomy_of(model))).isfinite().all()


def test_alibi_in_an_encoder_cannot_tell_a_text_from_its_mirror_image() -> None:
    model, src_ids = scrambled("alibi"), random_ids(1, 6)
    mirrored, states = model.encode(src_ids.flip(1)).states, model.encode(src_ids).states
    assert_close(mirrored, states.flip(1), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("positions", CHOICES["positions"])
def test_all_but_learned_positions_go_beyond_the_prepared_length(positions: str) -> None:
    model = build_model(replace(TINY, positions=positions, max_len=9)).eval()
    long = random_ids(1, 10)
    if positions == "learned":
        with pytest.raises(ValueError, match=r"^10 tokens, but this model has learned a vector for 9 positions only$"):
            model(long, long)
        assert model(long[:, :9], long[:, :9]).isfinite().all()
    else:
        assert model(long, long).isfinite().all()


def test_a_text_is_cut_where_learned_positions_end() -> None:
    tokenizer = Tokenizer.train(SENTENCES, vocab_size=331)
    config = replace(TINY, vocab_size=tokenizer.vocab_size, positions="learned", max_len=9)
    loaded = small_loaded(build_model(config).eval().requires_grad_(False), tokenizer)
    assert most_tokens(loaded) == 8
    text = " ".join(["the cat sat"] * 9)
    for decoding in (Greedy(), Beam(2)):
        one = trace(loaded, text, decoding=decoding)
        assert (len(one.src), one.n_cut) == (9, len(tokenizer.encode(text)) - 8)
        assert len(one.labels) <= 9
        assert isinstance(translate(loaded, text, decoding), str)
    assert len(trace(loaded, text, text).labels) == 9
    src_ids = random_ids(1, 5)
    *_, last = decoding_steps(NextToken(loaded.model, loaded.model.encode(src_ids)), Greedy(9))
    assert len(last.best.ids) <= 9
