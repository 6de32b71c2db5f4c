"""What the stage sends to the browser: every number of the trace, and a story that says nothing else."""

import json
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest

from model.anatomy.structure import Anatomy
from model.decoding.strategies import Greedy
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID
from model.trace import Trace, read, trace
from tests.family import small
from tests.house.toy import toy
from ui import engine
from ui.components import scene
from ui.components.shared.wire import browser_file, with_bytes
from ui.components.stage import CODE, NEAR, STYLES, asked
from ui.components.stage.data import packed, stage_data
from ui.components.stage.looks import percent
from ui.components.stage.near import View
from ui.components.stage.parts import panels_of, tensor_names
from ui.components.stage.story import Moment, given_rows, story

SENTENCES = (
    "The girl sees the boy.",
    "Hi",
    "I did not buy the bag because it was too expensive.",
    "😀 שלום <b>",
)
LONG = "the cat sees a big dog and " * 20  # more than the model takes
WORDS_A_CAPTION = 29
SHOWN = {"read": "decoder.cross_attn", "widen": "encoder.feed_forward"}  # the block of a view from near


@cache
def one_stack() -> Trace:
    return trace(toy(), "The cat sat on the mat.", decoding=Greedy(max_steps=14))


def unpacked(packed: bytes, sizes: Sequence[int]) -> np.ndarray:
    """The numbers of `packed`, one after the other. sizes: of the arrays that were sent"""
    first, others = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(2, -1).tolist()
    special = {240: "nan", 241: "inf", 242: "-inf"}
    found: list[float] = []
    for before, size in zip((0, *sizes), sizes, strict=False):
        for _ in range(size):
            a, b = first[len(found)], others[len(found)]
            minus = (a >= 120) != (before == size and found[-size] < 0)
            found.append(float(special.get(a) or f"{'-' * minus}{a % 10}.{b % 100:02}e{a // 10 % 12 - 7}"))
    return np.array(found)


def as_shown(array: np.ndarray) -> np.ndarray:
    """Three digits, but at most four decimals."""
    shown = [f"{value:.2e}" if abs(value) >= 0.1 else f"{value:.4f}" for value in array.ravel().tolist()]
    return np.array([float(one) for one in shown]).reshape(array.shape)


def length(moments: list[Moment]) -> float:
    """Seconds that the moments take at normal speed."""
    return sum(moment.seconds for moment in moments)


def arrays(data: dict) -> dict[str, np.ndarray]:
    places = sorted((at, -int(np.prod(shape))) for _, shape, at in data["tensors"])
    sizes = [-less for n, (at, less) in enumerate(places) if all(at >= one - size for one, size in places[:n])]
    numbers = unpacked(data["numbers"], sizes)
    return {name: numbers[at : at + int(np.prod(shape))].reshape(shape) for name, shape, at in data["tensors"]}


def test_a_model_of_one_stack_is_sent_whole_too() -> None:
    one = one_stack()
    data = stage_data(one)
    for name, shown in arrays(data).items():
        assert np.allclose(shown, as_shown(one.tensors[name]), rtol=1e-9, atol=1.1e-5), name
    (panel,) = data["panels"]
    assert [part["kind"] for part in panel["parts"]][:2] == ["embedding", "attention"]
    assert all(part["causal"] for part in panel["parts"] if part["kind"] == "attention")
    assert panel["parts"][-1]["kind"] == "output"


def test_the_rows_of_columns_follow_one_another_as_the_model_computes() -> None:
    """What a part reads is what the part below it made, by the anatomy's own account."""
    for loaded in (engine.model(), toy()):
        anatomy = loaded.anatomy
        for panel in panels_of(anatomy, loaded.about):
            for below, part in pairwise(panel.parts):
                if part.kind != "output":
                    assert below.result in ancestors(anatomy, part.result), part
            assert not panel.writes or panel.parts[-2].result in anatomy.tensors["logits"].reads


def ancestors(anatomy: Anatomy, name: str) -> set[str]:
    """All that a tensor is made from, however far back."""
    found, left = set(), [name]
    while left:
        for one in anatomy.tensors[left.pop()].reads:
            if one in anatomy.tensors and one not in found:
                found.add(one)
                left.append(one)
    return found


BLANK = (CLS_ID, 40, MASK_ID, 42, SEP_ID)


def test_what_is_packed_comes_back_in_order_with_the_digits_that_are_shown() -> None:
    first = np.array([[1.5, -2.254], [0.0, 65504.0]])
    second = np.array([6.104e-05, -1.004e-7, 0.00456, 0.09996, -9.996, 99_960, np.inf, -np.inf, np.nan, -1e9])
    shown = [1.5, -2.25, 0, 65500, 1e-4, -1e-5, 0.0046, 0.1, -10, np.inf, np.inf, -np.inf, np.nan, -np.inf]
    assert np.allclose(unpacked(packed([first, second]), (4, 10)), shown, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("before", [-1.0, -1e-12, 1.0, 0.0, np.nan, np.inf, -np.inf])
def test_a_number_keeps_its_sign_whatever_stands_before_it(before: float) -> None:
    for value in (-2.5, 2.5, -1e-12, 0.0, np.inf, -np.inf):
        arrays = [np.array(one) for one in ([before, 3.0], [value, -3.0], [value, -3.0], [1.0])]
        found = unpacked(packed(arrays), (2, 2, 2, 1))
        assert np.allclose(found, np.concatenate(arrays), atol=1.1e-5, equal_nan=True)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_story_is_short_and_in_order(sentence: str) -> None:
    one = engine.trace(sentence)
    moments = story(one)
    assert [m.stop for m in moments if m.stop] == [
        "pieces", "vectors", "attention", "memory", "reading", "next piece", "end",
    ]  # fmt: skip
    for moment in moments:
        words = [word for word in moment.caption.split() if any(c.isalnum() for c in word)]
        assert len(words) <= WORDS_A_CAPTION, moment.caption
        assert moment.seconds > 0
    assert [m.step for m in moments if m.panel == 1] == sorted(m.step for m in moments if m.panel == 1)
    assert {m.step for m in moments if m.panel == 1} == set(range(len(one.labels)))
    # Every block works at least once, and in the first step of the decoder in order.
    for n, panel in enumerate(panels_of(one.model.anatomy, one.model.about)):
        works = [m.part for m in moments if m.panel == n and m.kind in ("block", "choose") and m.step <= 0]
        assert sorted(set(works)) == list(range(len(panel.parts)))
        assert works == sorted(works)


def test_the_ride_takes_about_half_a_minute_and_its_length_counts_little() -> None:
    lengths = [length(story(engine.trace(sentence))) for sentence in (*SENTENCES, LONG)]
    assert length(story(engine.trace(SENTENCES[0]))) < 30
    assert max(lengths) < 33
    for sentence in (*SENTENCES, LONG):  # pieces that come quickly do not flash by, and take about three seconds in all
        written = [moment.seconds for moment in story(engine.trace(sentence)) if moment.kind == "write"][1:]
        assert all(min(0.2, 4.9 / len(written)) <= seconds <= 0.8 for seconds in written)
        assert sum(written) >= min(2.4, 0.79 * len(written))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_is_said_for_the_first_time_can_be_read(sentence: str) -> None:
    """Eight words a second, or a stop; of the pieces written one after the other, the first."""
    moments = [moment for moment in story(engine.trace(sentence)) if moment.kind != "write" or moment.step == 1]
    for caption in {moment.caption for moment in moments}:
        saying = [moment for moment in moments if moment.caption == caption]
        if not any(moment.stop for moment in saying):
            assert length(saying) >= len(caption.split()) / 8 - 1e-6, caption


def test_a_block_is_seen_from_near_only_in_what_it_has() -> None:
    one = engine.trace(SENTENCES[0])
    for block, view in (
        ("encoder.feed_forward", "mix"),
        ("encoder.self_attn", "widen"),
        ("encoder.self_attn", "read"),
        ("decoder.cross_attn", "mix"),
        ("encoder.embedding", "widen"),
    ):
        assert stage_data(one, shows=[block], view=view)["near"] is None
    assert stage_data(one_stack(), shows=["decoder.feed_forward"], view="widen")["near"] is None  # it has no ReLU
    assert stage_data(one)["near"] is None
    data = stage_data(one, shows=["encoder.self_attn"], view="norm")
    first, last = data["clip"]
    assert [moment["kind"] for moment in data["moments"][first : last + 2]] == ["block", "block", "near", "block"]
    before_norm = stage_data(one_stack(), shows=["decoder.self_attn"], view="norm")
    assert before_norm["near"] is None


def test_an_interrupted_translation_says_that_it_was_stopped() -> None:
    one = trace(engine.model(), "I ate an apple", decoding=Greedy(max_steps=2))
    last = story(one)[-1]
    assert last.caption == "It was stopped after 2 steps; it had not written <eos>, the end sign."
    assert len(stage_data(one)["steps"]) == 2


def test_a_translation_of_one_piece_has_an_end_and_a_given_one_candidates() -> None:
    one = trace(engine.model(), "I ate an apple", decoding=Greedy(max_steps=1))
    assert [m.kind for m in story(one)][-2:] == ["choose", "end"]
    given = trace(engine.model(), "I ate an apple", target="Ich sehe")
    for step, label in zip(stage_data(given)["steps"], given.labels, strict=True):
        assert step["candidates"][step["chosen"]][0] == ((label.text.strip(" ") and label.text) or "␣")


def test_the_id_is_another_for_every_sentence_and_the_same_for_the_same() -> None:
    ids = [stage_data(engine.trace(sentence))["id"] for sentence in SENTENCES]
    assert len(set(ids)) == len(SENTENCES)
    assert stage_data(engine.trace(SENTENCES[0]))["id"] == ids[0]


def test_hostile_text_stays_text() -> None:
    data = stage_data(engine.trace("a\u202eb </script><img src=x onerror=alert(1)>"))
    assert "\u202e" not in json.dumps(data | {"numbers": None}, ensure_ascii=False)


def sentence_of(n: int, loaded: LoadedModel) -> str:
    from benchmarks.ride import long_trace

    return long_trace().text if n == 20 else loaded.about.examples[0].sentence


def test_code_and_data_are_small_enough() -> None:
    # The stage and the lessons' own scenes: all code that moves pictures on a first screen.
    sizes = [len(browser_file(*files).encode()) for files in (CODE, STYLES, NEAR, scene.CODE, scene.STYLES)]
    assert sum(sizes) <= 220_000
    assert sum(sizes[:2]) <= 120_000  # the ride's alone
    one = engine.trace(sentence_of(20, engine.model()))
    assert (len(one.src), abs(len(one.tgt) - 20) <= 1) == (20, True)
    assert len(with_bytes(stage_data(one))) <= 300_000
    for view in get_args(View):
        clip = stage_data(one, shows=[SHOWN.get(view, "encoder.self_attn")], view=view)
        assert clip["near"]["view"] == view
        assert len(with_bytes(clip)) <= 300_000


@pytest.mark.parametrize(
    "sent",
    [
        None,
        3,
        "x",
        [],
        ["0", 1],
        [-1, 0, 8000],
        [-1, 5, 0],
        [-2, 0, 0],
        [0, 0],
        [0, 0, 9999],
        [0, -1, 0],
        [9999, 0, 0],
        [0, 0.5, 1],
        [0, True, 1],
    ],
)
def test_what_the_browser_sends_is_checked(sent: object) -> None:
    tensors = stage_data(engine.trace(SENTENCES[0]))["tensors"]
    assert asked(tensors, sent, (5, 8000)) is None
    assert asked(tensors, [1, 2, 3], (5, 8000)) == (tensors[1][0], (2, 3))
    assert asked(tensors, [-1, 4, 7999], (5, 8000)) == ("probabilities", (4, 7999))


def test_percent() -> None:
    shown = [percent(share) for share in (0, 0.004, 0.0151, 0.5, 0.994, 0.9951, 0.99999, 1 - 1e-7, 1)]
    assert shown == ["0%", "less than 1%", "2%", "50%", "99%", "more than 99%", "more than 99%", "100%", "100%"]


def test_names_are_drawn_once() -> None:
    names = tensor_names(panels_of(engine.model().anatomy, engine.model().about))
    assert len(names) == len(set(names))
    assert all(name in engine.trace(SENTENCES[0]).tensors for name in names)


def test_a_moment_speaks_of_a_row_that_is_there() -> None:
    def focus(moment: Moment, one: Trace) -> bool:
        tokens = (one.src, one.tgt)[moment.panel] if len(one.model.anatomy.stacks) == 2 else one.tgt
        return moment.focus < len(tokens) and moment.focus <= max(moment.step, len(one.src))

    for one in (*map(engine.trace, (*SENTENCES, LONG)), one_stack()):
        assert all(focus(moment, one) for moment in story(one))
    first = [moment for moment in story(one_stack()) if moment.step == given_rows(one_stack()) - 1]
    assert all(moment.focus <= moment.step for moment in first)
    blank = read(small("bert-mini"), BLANK)
    assert all(moment.focus < len(BLANK) for moment in story(blank))
