"""Where readers look, and what hiding and changing patches does: laws, on the readers that come with the app."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from experiments.pictures.looking import (
    chances,
    effects,
    hidden,
    hidden_in_turn,
    lens,
    looked_at,
    rollout,
    travelled,
    turned,
    window_of,
)
from model.build_beyond_text import build_swin
from model.families.pictures import SwinConfig
from model.files import checkpoint
from model.files.load_pictures import IN_WINDOWS, SWIN, config_file, load_swin, load_vision, samples, trace_picture
from model.interventions import Head, InterventionError, Interventions

PICTURES, LABELS = samples()


@pytest.mark.parametrize("patch", [1, 7, 16])
def test_what_is_in_a_hidden_patch_changes_nothing(patch: int) -> None:
    scribbled = PICTURES[3].copy()
    row, column = divmod(patch - 1, 4)
    scribbled[7 * row : 7 * row + 7, 7 * column : 7 * column + 7] = 0.7
    both = [hidden(load_vision(), one, frozenset({patch})) for one in (PICTURES[3], scribbled)]
    assert np.allclose(*[read.tensors["logits"] for read in both], atol=1e-4)
    seen = [hidden(load_vision(), one, frozenset()).tensors["logits"] for one in (PICTURES[3], scribbled)]
    assert not np.allclose(*seen, atol=1e-2)


def test_nobody_looks_at_a_hidden_patch() -> None:
    read = hidden(load_vision(), PICTURES[0], frozenset({6, 11}))
    for layer in range(3):
        weights = read.attention("encoder", layer)
        assert not weights[:, :, [6, 11]].any()
        assert np.allclose(weights.sum(-1), 1, atol=1e-6)


def test_each_patch_in_turn_is_the_one_that_is_looked_at_most() -> None:
    order, reads = hidden_in_turn(load_vision(), PICTURES[9], 4)
    for n, patch in enumerate(order):
        seen = looked_at(hidden(load_vision(), PICTURES[9], frozenset(order[:n])))
        assert patch == int(seen.argmax()) + 1
        assert np.array_equal(looked_at(reads[n]), seen)
    assert len(reads) == 5
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
    assert not np.allclose(plain.tensors["logits"], off.tensors["logits"], atol=1e-2)
    with pytest.raises(InterventionError, match="the last of the sentence is 16"):
        hidden(load_vision(), PICTURES[8], frozenset({17}))


def test_samples_are_the_digits_in_their_order_then_those_read_wrong() -> None:
    assert LABELS[:10].tolist() == list(range(10))
    named = [int(hidden(load_vision(), picture, frozenset()).translation) for picture in PICTURES]
    assert named[:10] == list(range(10))
    assert all(said != label for said, label in zip(named[10:], LABELS[10:].tolist(), strict=True))


@pytest.fixture(scope="module")
def swins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Swin Transformer that has learned nothing: how far a change travels does not hang on that."""
    folder = tmp_path_factory.mktemp("swins")
    checkpoint.save_weights(folder / f"{IN_WINDOWS}.safetensors", build_swin(SwinConfig()).state_dict())
    (folder / config_file(SWIN)).write_text(json.dumps(asdict(SwinConfig())))
    return folder


def test_one_patch_is_turned_and_no_other() -> None:
    changed = turned(PICTURES[3], 5 * 14 + 9, 2)
    apart = np.argwhere(changed != PICTURES[3])
    assert apart.min(0).tolist() == [10, 18]
    assert apart.max(0).tolist() == [11, 19]
    assert np.allclose(changed[10:12, 18:20] + PICTURES[3][10:12, 18:20], 1)


@pytest.mark.parametrize(
    ("place", "known"), [((5, 5), 100), ((9, 9), 121), ((5, 9), 110), ((0, 0), 100), ((13, 0), 110)]
)
def test_a_change_travels_as_far_as_windows_reach(swins: Path, place: tuple[int, int], known: int) -> None:
    """A shifted window reaches from the third row to the ninth, from there to the end, or lies before the third."""
    patch = 14 * place[0] + place[1]
    heard = [(travelled(load_swin(shifts, swins), PICTURES[4], patch) > 0).sum(1).tolist() for shifts in (False, True)]
    assert heard == [[1, 49, 49, 49, 49], [1, 49, known, 196, 196]]


def test_a_patch_is_found_in_its_window() -> None:
    which, place, patches = window_of((14, 7, 0), 8, 3)
    assert (which, place) == (2, 10)  # below the first two windows, second row, fourth column
    assert patches.tolist() == [14 * row + column for row in range(7, 14) for column in range(7)]
    which, place, patches = window_of((14, 7, 3), 1, 4)
    assert patches[place] == 14 + 4
    assert {*patches.tolist()} == {14 * row + column for row in (10, 11, 12, 13, 0, 1, 2) for column in range(3, 10)}
