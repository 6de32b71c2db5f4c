"""Where a Vision Transformer looks, and what hiding patches does: laws, on the readers that come with the app."""

import numpy as np
import pytest

from experiments.pictures.looking import chances, effects, hidden, lens, looked_at, most_looked_at, rollout
from model.files.load_pictures import load_vision, samples, trace_picture
from model.interventions import Head, InterventionError, Interventions

PICTURES, LABELS = samples()


@pytest.mark.parametrize("patch", [1, 7, 16])
def test_what_is_in_a_hidden_patch_changes_nothing(patch: int) -> None:
    scribbled = PICTURES[3].copy()
    row, column = divmod(patch - 1, 4)
    scribbled[7 * row : 7 * row + 7, 7 * column : 7 * column + 7] = 0.7
    both = [hidden(load_vision(), one, frozenset({patch})) for one in (PICTURES[3], scribbled)]
    assert np.allclose(*[chances(read) for read in both], atol=1e-6)
    seen = [chances(hidden(load_vision(), one, frozenset())) for one in (PICTURES[3], scribbled)]
    assert not np.allclose(*seen, atol=1e-6)


def test_nobody_looks_at_a_hidden_patch() -> None:
    read = hidden(load_vision(), PICTURES[0], frozenset({6, 11}))
    for layer in range(3):
        weights = read.attention("encoder", layer)
        assert not weights[:, :, [6, 11]].any()
        assert np.allclose(weights.sum(-1), 1, atol=1e-6)


def test_each_patch_in_turn_is_the_one_that_is_looked_at_most() -> None:
    order = most_looked_at(load_vision(), PICTURES[9], 4)
    for n, patch in enumerate(order):
        seen = looked_at(hidden(load_vision(), PICTURES[9], frozenset(order[:n])))
        assert patch == int(seen.argmax()) + 1
    assert len(set(order)) == 4


def test_rollout_is_a_share_of_every_row() -> None:
    read = hidden(load_vision(), PICTURES[2], frozenset({3}))
    shares = rollout(read)
    assert shares[2] == 0
    assert (shares >= 0).all()
    assert 0.125 <= 1 - shares.sum() <= 1  # the stream of [class] alone keeps an eighth after three layers


def test_the_lens_at_the_end_is_what_it_says() -> None:
    read = hidden(load_vision(), PICTURES[5], frozenset())
    said = lens(read)
    assert said.shape == (4, 17, 10)
    assert np.allclose(said.sum(-1), 1, atol=1e-5)
    assert np.allclose(said[-1, 0], chances(read), atol=1e-5)
    assert not np.allclose(said[-2, 0], chances(read), atol=1e-2)


def test_effects_are_of_each_patch_hidden_or_shown_again() -> None:
    found = effects(load_vision(), PICTURES[9], frozenset({7}), 9)
    assert found.before == pytest.approx(chances(hidden(load_vision(), PICTURES[9], frozenset({7})))[9])
    assert found.after[6] == pytest.approx(chances(hidden(load_vision(), PICTURES[9], frozenset()))[9])
    assert found.after[5] == pytest.approx(chances(hidden(load_vision(), PICTURES[9], frozenset({6, 7})))[9])


def test_heads_can_be_switched_off_and_what_is_not_there_is_named() -> None:
    plain = trace_picture(load_vision(), PICTURES[8])
    off = trace_picture(load_vision(), PICTURES[8], Interventions(heads_off=(Head("encoder", 2, 1),)))
    assert not off.attention("encoder", 2, "heads")[1].any()
    assert not np.allclose(chances(plain), chances(off), atol=1e-6)
    with pytest.raises(InterventionError, match="the last of the sentence is 16"):
        hidden(load_vision(), PICTURES[8], frozenset({17}))


def test_samples_are_the_digits_in_their_order_then_those_read_wrong() -> None:
    assert LABELS[:10].tolist() == list(range(10))
    named = [int(hidden(load_vision(), picture, frozenset()).translation) for picture in PICTURES]
    assert named[:10] == list(range(10))
    assert all(said != label for said, label in zip(named[10:], LABELS[10:].tolist(), strict=True))
