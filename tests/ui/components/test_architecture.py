"""What the map sends to the browser: every block, honest pictures, the right words, few bytes."""

import json
from math import ceil
from types import MappingProxyType

import numpy as np
import pytest

from figures.thumbnails import HIDDEN, value_thumbnail, weight_thumbnail
from model.files.loaded_model import load_model
from model.text.tokenizer import Token
from model.trace import Trace
from tests.course import LESSONS
from ui.components.architecture import architecture_data, block_ids

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


def test_lessons_name_blocks_of_the_map() -> None:
    assert {block for lesson in LESSONS for block in lesson.on_map.opens} <= {*IDS}


def test_zeros_are_the_middle_of_the_scale() -> None:
    assert (value_thumbnail(np.zeros((3, 5))).pixels == 127).all()


def test_numbers_that_are_none_do_not_spoil_a_picture() -> None:
    small = value_thumbnail(np.array([[np.nan, np.inf, -2.0]]))
    assert small.pixels.tolist() == [[127, 127, 0]]


def test_masked_cells_are_marked_and_joined_ones_only_if_all_are_masked() -> None:
    hidden = np.triu(np.ones((6, 6), bool), 1)
    whole = weight_thumbnail(np.zeros((2, 6, 6)), hidden).pixels
    assert ((whole == HIDDEN) == hidden).all()
    joined = weight_thumbnail(np.zeros((2, 6, 6)), hidden, side=3).pixels
    assert ((joined == HIDDEN) == np.triu(np.ones((3, 3), bool), 1)).all()


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
