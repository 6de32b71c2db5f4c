"""Changes as data: what is written is read back, what does not fit is refused, what is compiled does what it says."""

import gc
import math
import weakref
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.anatomy.describe import anatomy_of
from model.families.encoder_decoder import EncoderDecoder
from model.interventions import NOTHING, Block, Head, InterventionError, Interventions, RowEdit, Unit
from model.tap import Recorder, no_tap
from tests.small import CONFIG, SOURCE, TARGET, random_ids, random_model

SUBLAYERS = {"encoder": ("self_attn", "feed_forward"), "decoder": ("self_attn", "cross_attn", "feed_forward")}

heads = st.builds(Head, st.sampled_from(["encoder", "decoder", "cross"]), st.integers(0, 5), st.integers(0, 7))
shares = st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any).map(lambda n: tuple(x / sum(n) for x in n))
units = st.builds(Unit, st.sampled_from(list(SUBLAYERS)), st.integers(0, 5), st.integers(0, 4095))
blocks = st.sampled_from([Block(stack, 1, name) for stack, names in SUBLAYERS.items() for name in names])
networks = st.builds(Block, st.sampled_from(list(SUBLAYERS)), st.integers(0, 5), st.just("feed_forward"))
changes = st.builds(
    Interventions,
    heads_off=st.lists(heads, max_size=4).map(tuple),
    blocked=st.lists(st.integers(0, 99), max_size=4).map(tuple),
    units_off=st.lists(units, max_size=4).map(tuple),
    relu_off=st.lists(networks, max_size=4).map(tuple),
    blocks_off=st.lists(blocks, max_size=4).map(tuple),
    scale_off=st.booleans(),
    positions_off=st.booleans(),
    causal_mask_off=st.booleans(),
)


@given(changes)
def test_what_is_written_is_read_back(change: Interventions) -> None:
    assert Interventions.parse(str(change)) == change
    assert bool(change) == bool(str(change))


@given(st.builds(RowEdit, heads, st.integers(0, 99), shares))
def test_an_edited_row_is_read_back(edit: RowEdit) -> None:
    (read,) = Interventions.parse(f"rows:{edit}").rows
    assert (read.head, read.row) == (edit.head, edit.row)
    assert read.weights == pytest.approx(edit.weights, abs=1e-4)
    assert sum(read.weights) == pytest.approx(1)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        change = Interventions.parse(text)
    except InterventionError:
        return
    assert Interventions.parse(str(change)) == change


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("heads_off:cross.9", "cross.9"),
        ("melt", "melt"),
        ("scale_off;scale_off", "twice"),
        ("blocked:-1", "-1"),
        ("rows:cross.0.0@1=0.5,0.6,0.7", "1.8"),
        ("rows:cross.0.0@1=nan,1", "nan"),
        ("rows:cross.0.0@1=a", "'a'"),
        ("rows:cross.0.0=1", "edited row"),
        ("units_off:encoder.2", "encoder.2"),
        ("blocks_off:decoder.1", "decoder.1"),
        ("relu_off:decoder.1.cross_attn", "no ReLU"),
        ("blocked:" + "+".join(map(str, range(65))), "64"),
    ],
)
def test_what_cannot_be_read_is_quoted(text: str, says: str) -> None:
    with pytest.raises(InterventionError, match=says):
        Interventions.parse(text)


def test_tokens_are_counted_from_0() -> None:
    with pytest.raises(InterventionError, match=r"^blocked tokens count from 0, got -2$"):
        Interventions(blocked=(3, -1, -2))


def test_a_network_may_have_as_many_units_as_five_digits_count() -> None:
    assert Unit.parse("encoder.2.12345") == Unit("encoder", 2, 12345)
    with pytest.raises(InterventionError, match=r"^'encoder\.2\.123456' names no hidden unit; "):
        Unit.parse("encoder.2.123456")


def test_order_and_doubles_do_not_matter() -> None:
    assert Interventions(blocked=(3, 1, 3)) == Interventions(blocked=(1, 3))


def test_what_does_not_fit_the_model_is_refused() -> None:
    anatomy = anatomy_of(random_model())  # 2 layers, 3 heads, 53 hidden units
    for change, says in (
        (Interventions(heads_off=(Head("cross", 2, 0),)), r"^cross\.2\.0 does not exist: .* 1 and 2$"),
        (Interventions(heads_off=(Head("cross", 1, 3),)), r"^cross\.1\.3 does not exist: .* 1 and 2$"),
        (Interventions(heads_off=(Head("sideways", 0, 0),)), r"^sideways\.0\.0 does not exist in this model$"),
        (Interventions(units_off=(Unit("cross", 1, 1),)), r"^cross\.1\.feed_forward does not exist in this model$"),
        (Interventions(blocks_off=(Block("encoder", 1, "cross_attn"),)), r"^encoder\.1\.cross_attn does not exist"),
        (Interventions(blocked=(5,)), "the last of the sentence is 4"),
        (Interventions(units_off=(Unit("encoder", 1, 53),)), r"encoder\.1\.53 .* 1 and 52"),
        (Interventions(units_off=(Unit("encoder", 2, 0),)), r"encoder\.2\.feed_forward .* layers end at 1"),
        (Interventions(relu_off=(Block("decoder", 2, "feed_forward"),)), "layers end at 1"),
        (Interventions(blocks_off=(Block("decoder", 2, "cross_attn"),)), r"decoder\.2\.cross_attn"),
    ):
        with pytest.raises(InterventionError, match=says):
            change.check(anatomy, 5)
    with pytest.raises(InterventionError, match="at least one"):
        Interventions(blocked=(0, 1)).check(anatomy, 2)
    Interventions(
        heads_off=(Head("cross", 1, 2),),
        blocked=(0, 4),
        units_off=(Unit("decoder", 1, 52),),
        relu_off=(Block("encoder", 1, "feed_forward"),),
        blocks_off=(Block("decoder", 1, "cross_attn"),),
    ).check(anatomy, 5)


def test_nothing_compiles_to_the_tap_that_does_nothing() -> None:
    assert NOTHING.compile(anatomy_of(random_model())) is no_tap
    assert not NOTHING


def run(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor, change: Interventions) -> dict[str, Tensor]:
    recorder = Recorder(change.compile(anatomy_of(model)))
    model(src_ids, tgt_ids, recorder)
    return recorder.tensors


def test_masks_and_rows_are_changed_as_they_say(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    src_ids = src_ids[:1]  # the first row has no padding
    tgt_ids = tgt_ids[:1]
    plain = run(model, src_ids, tgt_ids, NOTHING)
    cross = "decoder.layers.0.cross_attn"

    off = run(model, src_ids, tgt_ids, Interventions(causal_mask_off=True))
    assert (off["decoder.layers.0.self_attn.weights"] > 0).all()
    assert (plain["decoder.layers.0.self_attn.weights"].triu(1) == 0).all()

    off = run(model, src_ids, tgt_ids, Interventions(blocked=(2,)))
    assert not off["encoder.layers.0.self_attn.weights"][..., 2].any()
    assert not off[f"{cross}.weights"][..., 2].any()
    assert torch.equal(off["decoder.layers.0.self_attn.weights"], plain["decoder.layers.0.self_attn.weights"])

    weights = tuple([0.25, 0.75] + [0.0] * (src_ids.size(1) - 2))
    off = run(model, src_ids, tgt_ids, Interventions(rows=(RowEdit(Head("cross", 0, 2), 3, weights),)))
    assert off[f"{cross}.weights"][0, 2, 3].tolist() == list(weights)
    values = off[f"{cross}.v"][0, 2]
    assert torch.allclose(off[f"{cross}.heads"][0, 2, 3], 0.25 * values[0] + 0.75 * values[1], atol=1e-6)
    assert torch.equal(off[f"{cross}.weights"][0, 1], plain[f"{cross}.weights"][0, 1])
    assert math.isclose(off[f"{cross}.weights"][0, 2].sum(-1).mean().item(), 1, abs_tol=1e-5)


def test_blocked_are_tokens_of_the_source_and_not_of_the_target() -> None:
    """Also in a family whose decoder has a padding mask of its own."""
    anatomy = anatomy_of(random_model())
    target = replace(anatomy.tensors["decoder.memory_mask"], axes=("one", "one", "tgt"))
    tap = Interventions(blocked=(1,)).compile(replace(anatomy, tensors={**anatomy.tensors, "decoder.mask": target}))
    seen = torch.ones(1, 1, 1, 3, dtype=torch.bool)
    assert tap("decoder.mask", seen).all()
    for name in ("encoder.mask", "decoder.memory_mask"):
        assert tap(name, seen).flatten().tolist() == [True, False, True]


def test_a_network_without_its_relu_keeps_nothing_after_the_pass() -> None:
    """What it remembers from one tap to the next may be large; it goes with the pass."""
    model, kept = random_model(), []
    tap = Interventions(relu_off=(Block("encoder", 0, "feed_forward"),)).compile(anatomy_of(model))

    def watched(name: str, value: Tensor) -> Tensor:
        if name.endswith("pre_activation"):
            kept.append(weakref.ref(value))
        return tap(name, value)

    with torch.no_grad():
        model(random_ids(1, 5), random_ids(1, 3), watched)
    gc.collect()
    assert len(kept) == 2 * CONFIG.n_layers
    assert [one() for one in kept] == [None] * len(kept)


def test_several_changes_of_one_attention_all_happen(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    """Two heads off, and two rows replaced in the third, the last row among them."""
    t, s = tgt_ids.size(1), src_ids.size(1)
    first, last = (1.0,) + (0.0,) * (s - 1), (0.0,) * (s - 1) + (1.0,)
    change = Interventions(
        heads_off=(Head("cross", 1, 0), Head("cross", 1, 2)),
        rows=(RowEdit(Head("cross", 1, 1), 0, last), RowEdit(Head("cross", 1, 1), t - 1, first)),
    )
    off = run(model, src_ids, tgt_ids, change)
    path = "decoder.layers.1.cross_attn"
    assert off[f"{path}.heads"].abs().amax((0, 2, 3)).gt(0).tolist() == [False, True, False]
    weights, plain = off[f"{path}.weights"], run(model, src_ids, tgt_ids, NOTHING)[f"{path}.weights"]
    assert weights[:, 1, 0].tolist() == [list(last)] * len(weights)
    assert weights[:, 1, t - 1].tolist() == [list(first)] * len(weights)
    assert torch.equal(weights[:, 1, 1 : t - 1], plain[:, 1, 1 : t - 1])


@pytest.mark.parametrize(
    ("row", "n_shares", "fits"), [(TARGET - 1, SOURCE, True), (TARGET, SOURCE, False), (0, SOURCE - 1, False)]
)
def test_a_row_that_does_not_fit_is_left_out(
    model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor, row: int, n_shares: int, fits: bool
) -> None:
    edit = RowEdit(Head("cross", 0, 1), row, (1.0,) + (0.0,) * (n_shares - 1))
    changed = run(model, src_ids, tgt_ids, Interventions(rows=(edit,)))
    plain = run(model, src_ids, tgt_ids, NOTHING)
    assert torch.equal(changed["logits"], plain["logits"]) == (not fits)


@pytest.mark.parametrize(
    ("total", "is_read"), [(0.98, False), (0.995, True), (1.005, True), (1.02, False), (1.05, False)]
)
def test_shares_may_be_rounded_and_no_more(total: float, is_read: bool) -> None:
    text = f"rows:cross.0.0@1={total - 0.25:.4f},0.25"
    if is_read:
        (edit,) = Interventions.parse(text).rows
        assert edit.weights == pytest.approx(((total - 0.25) / total, 0.25 / total))
    else:
        with pytest.raises(InterventionError, match="add up to"):
            Interventions.parse(text)
