"""What the map sends to the browser: every block, honest pictures, the right words, few bytes."""

import json
from base64 import b64decode
from math import ceil
from types import MappingProxyType

import numpy as np
import pytest

from figures.thumbnails import HIDDEN, bar_thumbnail, peak_thumbnail, value_thumbnail, weight_thumbnail
from model.files.loaded_model import load_model
from model.text.tokenizer import Token
from model.trace import Trace
from tests.course import LESSONS
from ui.components.architecture import architecture_data, block_ids
from ui.components.architecture.plan import plan_of

VOCABULARY = """
    tokenize encoder.embedding encoder.positions encoder.self_attn encoder.add_norm_1 encoder.feed_forward
    encoder.add_norm_2 encoder.stack decoder.embedding decoder.positions decoder.self_attn decoder.add_norm_1
    decoder.cross_attn decoder.add_norm_2 decoder.feed_forward decoder.add_norm_3 decoder.stack output.linear
    output.softmax
""".split()

random = np.random.default_rng(7)

MODEL = load_model()
IDS = block_ids(MODEL)


def made_up_trace(s: int, t: int, d_model: int = 256, vocab_size: int = 8000, heads: int = 4, layers: int = 3) -> Trace:
    """A trace of random numbers with the tensors that the map shows."""

    def values(rows: int, columns: int = d_model) -> np.ndarray:
        return random.normal(size=(rows, columns)).astype(np.float32)

    def scores(rows: int, columns: int, masked: bool = False) -> np.ndarray:
        found = random.normal(size=(heads, rows, columns)).astype(np.float32)
        return np.where(np.triu(np.ones((rows, columns), bool), 1) & masked, -np.inf, found)

    tensors = {"logits": values(t, vocab_size)}
    for stack, n in (("encoder", s), ("decoder", t)):
        tensors |= {f"{stack}.embedding.{what}": values(n) for what in ("scaled", "positions")}
        for layer in range(layers):
            path = f"{stack}.layers.{layer}"
            parts = ["add_norm_1", "add_norm_2", "feed_forward", *["add_norm_3"] * (stack == "decoder")]
            tensors |= {f"{path}.{part}.output": values(n) for part in parts}
            attentions = {"self_attn": scores(n, n, stack == "decoder")}
            if stack == "decoder":
                attentions["cross_attn"] = scores(t, s)
            for name, array in attentions.items():
                shares = np.exp(array)
                tensors |= {
                    f"{path}.{name}.scores": array,
                    f"{path}.{name}.weights": shares / shares.sum(-1)[..., None],
                }

    def tokens(n: int) -> tuple[Token, ...]:
        return tuple(Token(5 + i, "gegessen", i) for i in range(n))

    return Trace(
        MODEL,
        "text",
        0,
        tokens(s),
        tokens(t),
        tokens(t),
        MappingProxyType(tensors),
        (),
        "Ich habe " * ceil(t / 2),
        True,
    )


def blocks_of(trace: Trace | None, **options) -> dict[str, dict]:
    data = architecture_data(MODEL, **({"links": {}, "trace": trace} | options))
    return {block["id"]: block for block in data["blocks"]}


def pixels_of(block: dict) -> np.ndarray:
    picture = block["picture"]
    return np.frombuffer(b64decode(picture["pixels"]), np.uint8).reshape(picture["height"], picture["width"])


def test_the_map_has_every_block_from_bottom_to_top() -> None:
    assert list(IDS) == VOCABULARY


def test_lessons_name_blocks_of_the_map() -> None:
    assert {block for lesson in LESSONS for block in lesson.on_map.opens} <= {*IDS}


@pytest.mark.parametrize("shape", [(7, 256), (1, 1), (41, 256), (20, 64), (5, 1024)])
def test_a_pixel_of_values_is_one_value_of_the_tensor(shape) -> None:
    values = random.normal(size=shape) * 3
    small = value_thumbnail(values)
    row, column = small.every
    assert column % 2
    height, width = small.pixels.shape
    assert height <= 20
    assert width <= 64
    assert (height - 1) * row < shape[0] <= height * row
    assert (width - 1) * column < shape[1] <= width * column
    shown = [[values[i * row, j * column] for j in range(width)] for i in range(height)]
    assert small.limit == max(abs(v) for line in shown for v in line)
    for line, expected in zip(small.pixels, shown, strict=True):
        assert list(line) == [round(127 + 127 * v / small.limit) for v in expected]


def test_zeros_are_the_middle_of_the_scale() -> None:
    assert (value_thumbnail(np.zeros((3, 5))).pixels == 127).all()


def test_numbers_that_are_none_do_not_spoil_a_picture() -> None:
    small = value_thumbnail(np.array([[np.nan, np.inf, -2.0]]))
    assert small.pixels.tolist() == [[127, 127, 0]]


@pytest.mark.parametrize(("t", "s"), [(5, 7), (7, 101), (67, 33), (1, 1)])
def test_a_pixel_of_weights_is_the_largest_mean_over_heads_of_its_cells(t: int, s: int) -> None:
    weights = random.random((3, t, s))
    small = weight_thumbnail(weights)
    row, column = ceil(t / 32), ceil(s / 32)
    assert small.every == (row, column)
    assert small.pixels.shape == (ceil(t / row), ceil(s / column))
    for i, j in np.ndindex(small.pixels.shape):
        cells = [
            sum(weights[h, y, x] for h in range(3)) / 3
            for y in range(i * row, min(t, (i + 1) * row))
            for x in range(j * column, min(s, (j + 1) * column))
        ]
        assert abs(small.pixels[i, j] - 254 * max(cells)) <= 0.5 + 1e-9


def test_masked_cells_are_marked_and_joined_ones_only_if_all_are_masked() -> None:
    hidden = np.triu(np.ones((6, 6), bool), 1)
    whole = weight_thumbnail(np.zeros((2, 6, 6)), hidden).pixels
    assert ((whole == HIDDEN) == hidden).all()
    joined = weight_thumbnail(np.zeros((2, 6, 6)), hidden, side=3).pixels
    assert ((joined == HIDDEN) == np.triu(np.ones((3, 3), bool), 1)).all()


def test_a_pixel_of_scores_is_the_largest_of_its_group() -> None:
    scores = random.normal(size=(3, 131))
    small = peak_thumbnail(scores, columns=11)
    assert small.every == (1, 12)
    peaks = [[max(row[i : i + 12]) for i in range(0, 131, 12)] for row in scores]
    limit = max(abs(v) for row in peaks for v in row)
    assert small.limit == limit
    assert small.pixels.tolist() == [[round(127 + 127 * v / limit) for v in row] for row in peaks]


def test_bars_are_shares() -> None:
    assert bar_thumbnail(np.array([0.0, 0.5, 1.0])).pixels.tolist() == [[0, 127, 254]]


def test_blocks_tell_shape_and_range_of_the_last_layers_tensor() -> None:
    trace = made_up_trace(5, 7)
    blocks = blocks_of(trace)
    weights = trace.tensors["decoder.layers.2.cross_attn.weights"]
    told = f"weights (4, 7, 5), {weights.min():.2f} … {weights.max():.2f}. "
    assert blocks["decoder.cross_attn"]["numbers"].startswith(told)
    assert blocks["decoder.cross_attn"]["name"] == "Encoder-decoder attention, layer 3"
    logits = trace.tensors["logits"]
    told = f"logits (7, 8000), −{-logits.min():.2f} … {logits.max():.2f}. "
    assert blocks["output.linear"]["numbers"].startswith(told)
    assert "every 11th dimension" in blocks["encoder.embedding"]["numbers"]
    assert blocks["tokenize"]["numbers"] == "src_ids (5), tgt_ids (7)."
    assert blocks["encoder.stack"]["numbers"].startswith("output (5, 256), ")


def test_pictures_are_those_of_the_blocks_own_tensor() -> None:
    trace = made_up_trace(5, 7)
    blocks = blocks_of(trace)
    for block in plan_of(MODEL.anatomy, MODEL.about).blocks:
        assert ("picture" in blocks[block.id]) == bool(block.picture)
    for stack in ("encoder", "decoder"):
        own = trace.tensors[f"{stack}.layers.2.feed_forward.output"]
        assert (pixels_of(blocks[f"{stack}.feed_forward"]) == value_thumbnail(own).pixels).all()
    mean = trace.tensors["encoder.layers.2.self_attn.weights"].mean(0)
    assert (abs(pixels_of(blocks["encoder.self_attn"]) - 254.0 * mean) < 0.51).all()
    upper = np.triu(np.ones((7, 7), bool), 1)
    assert ((pixels_of(blocks["decoder.self_attn"]) == HIDDEN) == upper).all()
    logits = trace.tensors["logits"].astype(np.float64)
    chosen = [np.exp(row[label.id]) / np.exp(row).sum() for row, label in zip(logits, trace.labels, strict=True)]
    assert pixels_of(blocks["output.softmax"]).tolist() == [[round(254 * p) for p in chosen]]


@pytest.mark.parametrize("n", [1, 6, 20, 30, 40, 60, 64, 100])
def test_the_message_stays_small(n: int) -> None:
    links = dict.fromkeys(IDS, "Scaled dot-product attention")
    data = architecture_data(MODEL, links=links, trace=made_up_trace(n + 1, n + 1))
    assert len(json.dumps(data, ensure_ascii=False).encode()) < 33_000
    pictures = sum(len(block["picture"]["pixels"]) for block in data["blocks"] if "picture" in block)
    assert pictures < 26_000


def test_without_a_sentence_there_are_no_numbers() -> None:
    blocks = blocks_of(None)
    assert not [block for block in blocks.values() if "numbers" in block or "picture" in block]
    assert blocks["encoder.stack"]["label"].endswith(" ×3")


def test_a_block_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match=r"The map has no block 'encoder\.attn', 'x'; it has tokenize, encoder\."):
        architecture_data(MODEL, links={"encoder.attn": "…", "x": "…"}, trace=None)


def test_invisible_characters_of_a_piece_are_shown() -> None:
    trace = made_up_trace(2, 2)
    odd = (Token(9, "\u202egnp", 0), Token(8, "", -1))
    trace = Trace(**{**{f: getattr(trace, f) for f in trace.__dataclass_fields__}, "src": odd, "translation": ""})
    data = architecture_data(MODEL, links={}, trace=trace)
    assert data["stacks"][0]["tokens"] == ["‹U+202E›gnp", "␣"]
    assert data["output"] == "(nothing)"
