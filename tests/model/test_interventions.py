"""Changes as data: what is written is read back, what does not fit is refused, what is compiled does what it says."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.interventions import NOTHING, Head, InterventionError, Interventions, RowEdit
from model.tap import Recorder, no_tap
from model.transformer import EncoderDecoder

heads = st.builds(Head, st.sampled_from(["encoder", "decoder", "cross"]), st.integers(0, 5), st.integers(0, 7))
shares = st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any).map(lambda n: tuple(x / sum(n) for x in n))
changes = st.builds(
    Interventions,
    heads_off=st.lists(heads, max_size=4).map(tuple),
    blocked=st.lists(st.integers(0, 99), max_size=4).map(tuple),
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
        ("heads_off:sideways.0.0", "sideways.0.0"),
        ("melt", "melt"),
        ("scale_off;scale_off", "twice"),
        ("blocked:-1", "-1"),
        ("rows:cross.0.0@1=0.5,0.6,0.7", "1.8"),
        ("rows:cross.0.0@1=nan,1", "nan"),
        ("rows:cross.0.0@1=a", "'a'"),
        ("rows:cross.0.0=1", "edited row"),
        ("blocked:" + "+".join(map(str, range(65))), "64"),
    ],
)
def test_what_cannot_be_read_is_quoted(text: str, says: str) -> None:
    with pytest.raises(InterventionError, match=says):
        Interventions.parse(text)


def test_order_and_doubles_do_not_matter() -> None:
    assert Interventions(blocked=(3, 1, 3)) == Interventions(blocked=(1, 3))


def test_what_does_not_fit_the_model_is_refused() -> None:
    with pytest.raises(InterventionError, match=r"cross\.3\.0"):
        Interventions(heads_off=(Head("cross", 3, 0),)).check(3, 4, 5)
    with pytest.raises(InterventionError, match="the last of the sentence is 4"):
        Interventions(blocked=(5,)).check(3, 4, 5)
    with pytest.raises(InterventionError, match="at least one"):
        Interventions(blocked=(0, 1)).check(3, 4, 2)
    Interventions(heads_off=(Head("cross", 2, 3),), blocked=(0, 4)).check(3, 4, 5)


def test_nothing_compiles_to_the_tap_that_does_nothing() -> None:
    assert NOTHING.compile(8) is no_tap
    assert not NOTHING


def run(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor, change: Interventions) -> dict[str, Tensor]:
    d_k = model.encoder.layers[0].self_attn.split(torch.zeros(1, 1, model.embedding.matrix.embedding_dim)).size(-1)
    recorder = Recorder(change.compile(d_k))
    model(src_ids, tgt_ids, recorder)
    return recorder.tensors


def test_each_change_does_what_it_says(model: EncoderDecoder, src_ids: Tensor, tgt_ids: Tensor) -> None:
    src_ids = src_ids[:1]  # the first row has no padding
    tgt_ids = tgt_ids[:1]
    plain = run(model, src_ids, tgt_ids, NOTHING)
    cross = "decoder.layers.0.cross_attn"

    off = run(model, src_ids, tgt_ids, Interventions(heads_off=(Head("cross", 0, 1),)))
    assert not off[f"{cross}.heads"][:, 1].any()
    assert torch.equal(off[f"{cross}.heads"][:, 0], plain[f"{cross}.heads"][:, 0])
    assert not torch.allclose(off["logits"], plain["logits"])

    off = run(model, src_ids, tgt_ids, Interventions(scale_off=True))
    path = "encoder.layers.0.self_attn"
    assert torch.allclose(off[f"{path}.scores"], plain[f"{path}.products"], rtol=1e-5)
    assert torch.allclose(off["encoder.embedding.scaled"], plain["encoder.embedding.scaled"])

    off = run(model, src_ids, tgt_ids, Interventions(positions_off=True))
    for side in ("encoder", "decoder"):
        assert torch.equal(off[f"{side}.embedding.output"], off[f"{side}.embedding.scaled"])

    off = run(model, src_ids, tgt_ids, Interventions(causal_mask_off=True))
    assert (off["decoder.layers.0.self_attn.weights"] > 0).all()
    assert (plain["decoder.layers.0.self_attn.weights"].triu(1) == 0).all()

    off = run(model, src_ids, tgt_ids, Interventions(blocked=(2,)))
    assert not off[f"{path}.weights"][..., 2].any()
    assert not off[f"{cross}.weights"][..., 2].any()
    assert torch.equal(off["decoder.layers.0.self_attn.weights"], plain["decoder.layers.0.self_attn.weights"])

    weights = tuple([0.25, 0.75] + [0.0] * (src_ids.size(1) - 2))
    off = run(model, src_ids, tgt_ids, Interventions(rows=(RowEdit(Head("cross", 0, 2), 3, weights),)))
    assert off[f"{cross}.weights"][0, 2, 3].tolist() == list(weights)
    values = off[f"{cross}.v"][0, 2]
    assert torch.allclose(off[f"{cross}.heads"][0, 2, 3], 0.25 * values[0] + 0.75 * values[1], atol=1e-6)
    assert torch.equal(off[f"{cross}.weights"][0, 1], plain[f"{cross}.weights"][0, 1])
    assert math.isclose(off[f"{cross}.weights"][0, 2].sum(-1).mean().item(), 1, abs_tol=1e-5)
