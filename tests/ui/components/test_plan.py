"""The map of any model: held to the order in which the model works, and to what its tensors are made of."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from model.anatomy.describe import anatomy_of
from model.config import ModelConfig
from model.decoding.strategies import Greedy
from model.families.encoder_decoder import EncoderDecoder
from model.files.device import Device
from model.files.loaded_model import LoadedModel, load_model
from model.files.model_card import About
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import TokenEmbedding
from model.parts.feed_forward import FeedForward
from model.parts.layers import DecoderLayer, EncoderLayer
from model.parts.norms import LayerNorm, RMSNorm
from model.parts.positions import Positions, Rotary, Sinusoidal
from model.parts.residual import PostNorm, PreNorm, SandwichNorm
from model.parts.stacks import Decoder, Encoder
from model.text.tokenizer import PAD_ID, Tokenizer
from model.trace import Trace, trace
from tests.house.toy import toy
from tests.small import SENTENCES
from ui.components.architecture import architecture_data, block_ids, words
from ui.components.architecture.plan import Column, Plan, plan_of
from ui.components.stage.parts import panels_of

D_MODEL, N_HEADS, D_FF = 24, 3, 29


def post() -> nn.Module:
    return PostNorm(LayerNorm(D_MODEL))


def pre() -> nn.Module:
    return PreNorm(LayerNorm(D_MODEL))


def sandwich() -> nn.Module:
    return SandwichNorm(LayerNorm(D_MODEL), LayerNorm(D_MODEL))


def two_stacks(
    residual: Callable[[], nn.Module],
    n_encoder: int,
    n_decoder: int,
    rotary: Positions | None = None,
    last_norm: Callable[[], nn.Module | None] = lambda: None,
) -> LoadedModel:
    """An encoder-decoder of random weights, its stacks of different heights."""
    torch.manual_seed(3)
    tokenizer = Tokenizer.train(SENTENCES, vocab_size=331)

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(D_MODEL, N_HEADS, rotary) if rotary else MultiHeadAttention(D_MODEL, N_HEADS)

    def feed_forward() -> FeedForward:
        return FeedForward(D_MODEL, D_FF)

    places = Positions() if rotary else Sinusoidal(64, D_MODEL)
    model = EncoderDecoder(
        TokenEmbedding(nn.Embedding(tokenizer.vocab_size, D_MODEL), places, 0.0),
        Encoder(
            [EncoderLayer(attention(), residual(), feed_forward(), residual()) for _ in range(n_encoder)], last_norm()
        ),
        Decoder(
            [
                DecoderLayer(attention(), residual(), attention(), residual(), feed_forward(), residual())
                for _ in range(n_decoder)
            ],
            last_norm(),
        ),
        PAD_ID,
    ).eval()
    config = ModelConfig(tokenizer.vocab_size, D_MODEL, N_HEADS, n_decoder, D_FF)
    about = About("Small", "Klingon", "Latin")
    return LoadedModel(
        "small", config, model, tokenizer, Device(torch.device("cpu"), "CPU"), about, anatomy_of(model)
    )  # fmt: skip


MODELS: dict[str, Callable[[], LoadedModel]] = {
    "translator": load_model,
    "decoder alone, norm first": toy,
    "norm last": lambda: two_stacks(post, 1, 2),
    "norm first": lambda: two_stacks(pre, 3, 1),
    "norm before and after": lambda: two_stacks(sandwich, 1, 1),
    "rotary": lambda: two_stacks(pre, 2, 2, Rotary()),
    "last norms": lambda: two_stacks(pre, 2, 1, last_norm=lambda: RMSNorm(D_MODEL)),
}


@cache
def one(name: str) -> tuple[LoadedModel, Plan, Trace]:
    model = MODELS[name]()
    return model, plan_of(model.anatomy, model.about), trace(model, "A dog sees.", decoding=Greedy(max_steps=16))


every_model = pytest.mark.parametrize("name", MODELS)


def ids(column: Column) -> list[str]:
    return [block.id for block in (*column.inputs, *column.layer, *column.outputs)]


@every_model
def test_blocks_stand_in_the_order_in_which_the_model_works(name: str) -> None:
    _, plan, run = one(name)
    order = [*run.tensors, "probabilities"]  # the recorder keeps values as they pass
    for column in plan.columns:
        tensors = [block.tensor for block in (*column.inputs, *column.layer, *column.outputs)]
        places = [order.index(tensor) for tensor in tensors]
        assert places == sorted(places)
        assert len({*places}) == len(places)


@every_model
def test_what_runs_past_is_added_where_the_line_ends(name: str) -> None:
    """The tensor below the block where a residual leaves, plus the last one that the sub-layer made, is the sum."""
    _, plan, run = one(name)
    for column in plan.columns:
        first_layer = len(column.layer) and column.layer[0].layer == 1
        blocks = [*column.layer]
        at = {block.id: n for n, block in enumerate(blocks)}
        for first, last in column.past:
            end = blocks[at[last]]
            below = blocks[at[first] - 1].tensor if at[first] else None
            if below is None:
                path, _, rest = end.tensor.partition(f".{end.layer - 1}.")
                before = column.layer[-1].tensor.partition(f".{end.layer - 1}.")[2]
                stack = path.partition(".")[0]
                below = f"{stack}.embedding.output" if first_layer else f"{path}.{end.layer - 2}.{before}"
                assert rest
            inside = blocks[at[last] - 1]
            made = run.tensors[inside.tensor.replace(".weights", ".output")]
            total = end.tensor.replace(".output", ".sum") if end.kind == "add_norm" else end.tensor
            np.testing.assert_allclose(run.tensors[total], run.tensors[below] + made, atol=1e-5)
        expected = "encoder.normed" if name == "last norms" and not column.outputs else column.layer[-1].tensor
        assert column.frame.tensor == expected
        assert len(column.past) == sum(block.kind in ("add", "add_norm") for block in blocks)


@every_model
def test_what_feeds_a_block_is_what_its_keys_are_made_of(name: str) -> None:
    model, plan, run = one(name)
    frames = {column.frame.id: column.frame.tensor for column in plan.columns}
    blocks = {block.id: block for block in plan.blocks}
    for source, fed in plan.feeds:
        path = blocks[fed].tensor.removesuffix(".weights")
        keys = run.tensors[frames[source]] @ model.weights[f"{path}.w_k.weight"].T
        heads = run.tensors[f"{path}.k"]
        np.testing.assert_allclose(keys.reshape(len(keys), len(heads), -1).swapaxes(0, 1), heads, atol=1e-4)
    other = [b for b in plan.blocks if b.picture == "weights" and b.id not in {fed for _, fed in plan.feeds}]
    for block in other:  # all others look at their own rows
        assert run.tensors[block.tensor].shape[1] == run.tensors[block.tensor].shape[2]


@every_model
def test_causal_attention_is_called_masked(name: str) -> None:
    _, plan, run = one(name)
    for block in plan.blocks:
        if block.picture == "weights" and block.kind != "cross":
            future = np.triu(np.ones(run.tensors[block.tensor].shape[1:], bool), 1)
            assert ("Masked" in block.words.label) == (not run.tensors[block.tensor][:, future].any())


@every_model
def test_every_block_says_what_it_is_in_one_sentence(name: str) -> None:
    model, plan, _ = one(name)
    for block in plan.blocks:
        says = block.words
        assert says.does.endswith(".")
        assert says.does.count(". ") == 0, "one sentence"
        assert not re.search(r"[{}]", "".join(says))
        assert (says.label != "") == (block.id != "tokenize")
        assert (block.tensor != "") == (block.id != "tokenize")
    assert len({block.words.name for block in plan.blocks}) == len(plan.blocks)
    assert len({*plan.ids}) == len(plan.ids)
    assert block_ids(model) == plan.ids


@every_model
def test_a_sentence_is_drawn_whatever_the_model(name: str) -> None:
    model, plan, run = one(name)
    data = architecture_data(model, links={}, trace=run)
    blocks = {block["id"]: block for block in data["blocks"]}
    for block in plan.blocks:
        assert ("picture" in blocks[block.id]) == bool(block.picture)
        if block.tensor not in ("", "probabilities"):
            shape = ", ".join(map(str, run.tensors[block.tensor].shape))
            assert f"({shape})" in blocks[block.id]["numbers"]
    for stack in data["stacks"]:
        assert {*stack["inputs"], *stack["layer"], *stack["outputs"], stack["frame"]} <= blocks.keys()
    drawn = [id for stack in data["stacks"] for id in (*stack["inputs"], *stack["layer"], *stack["outputs"])]
    frames = [stack["frame"] for stack in data["stacks"]]
    assert sorted([*drawn, *frames, "tokenize"]) == sorted(plan.ids)


def test_the_colours_of_all_kinds_are_known_to_the_style_sheet_and_the_layout() -> None:
    folder = Path(words.__file__).parent
    css, layout = (folder / "architecture.css").read_text(), (folder / "layout.js").read_text()
    for colour in {one.colour for one in words.WORDS.values()}:
        assert re.search(rf"^\.{colour}\b", css, re.MULTILINE), colour
        if colour not in ("tokens", "stack"):
            assert len(re.findall(rf"\b{colour}: \d+", layout)) == 2, colour


def test_a_decoder_alone_with_its_norms_first() -> None:
    _, plan, run = one("decoder alone, norm first")
    (column,) = plan.columns
    assert [(block.id, block.words.label) for block in plan.blocks] == [
        ("tokenize", ""),
        ("decoder.embedding", "Token embedding"),
        ("decoder.add_norm_1.norm", "Norm"),
        ("decoder.self_attn", "Masked self-attention"),
        ("decoder.add_norm_1", "Add"),
        ("decoder.add_norm_2.norm", "Norm"),
        ("decoder.feed_forward", "Feed-forward"),
        ("decoder.add_norm_2", "Add"),
        ("decoder.stack", "Decoder ×2"),
        ("output.normed", "Norm"),
        ("output.linear", "Linear (tied)"),
        ("output.softmax", "Softmax"),
    ]
    assert column.past == (
        ("decoder.add_norm_1.norm", "decoder.add_norm_1"),
        ("decoder.add_norm_2.norm", "decoder.add_norm_2"),
    )
    assert plan.feeds == ()
    assert (column.pieces, plan.output) == ("pieces so far", "text")
    assert run.src == ()


def test_last_norms_are_drawn_or_told() -> None:
    _, plan, _ = one("last norms")
    encoder, decoder = plan.columns
    assert (encoder.outputs, encoder.frame.tensor) == ((), "encoder.normed")
    assert "the decoder reads what a last norm makes of it" in encoder.frame.words.does
    assert (decoder.outputs[0].id, decoder.outputs[0].tensor) == ("output.normed", "decoder.normed")
    panels = panels_of(one("last norms")[0].anatomy, one("last norms")[0].about)
    assert [[part.result for part in panel.parts if part.kind == "norm"] for panel in panels] == [
        ["encoder.normed"],
        ["decoder.normed"],
    ]


def test_norms_before_and_after_stand_around_the_sub_layer() -> None:
    _, plan, _ = one("norm before and after")
    labels = [block.words.label for block in plan.columns[1].layer]
    assert labels == [
        *("Norm", "Masked self-attention", "Norm", "Add"),
        *("Norm", "Encoder-decoder attention", "Norm", "Add"),
        *("Norm", "Feed-forward", "Norm", "Add"),
    ]
    frame = plan.columns[0].frame.words
    assert (frame.name, frame.label) == ("Encoder, 1 layer", "Encoder ×1")


def test_positions_that_are_not_added_are_no_block() -> None:
    assert [block for block in one("rotary")[1].ids if "positions" in block] == []
    assert [block for block in one("norm first")[1].ids if "positions" in block] == [
        "encoder.positions",
        "decoder.positions",
    ]


def test_the_languages_are_the_models_own() -> None:
    _, plan, _ = one("norm last")
    assert [column.pieces for column in plan.columns] == ["Klingon pieces", "Latin pieces so far"]
    does = " ".join(block.words.does for block in plan.blocks)
    assert "the encoder's Klingon pieces answer" in does
    assert not re.search("English|German", does)
