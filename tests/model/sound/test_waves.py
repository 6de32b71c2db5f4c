"""Waves made as long as a reader wants them."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from model.sound.spectrogram import HOP, spectrogram
from model.sound.waves import padded, placed, samples_of, with_pauses


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=12), st.integers(1, 14), st.floats(0, 1))
def test_a_wave_is_placed_whole_or_with_its_loudest_part(values: list[int], n: int, before: float) -> None:
    wave = torch.tensor(values).float()
    made = placed(wave, n, before)
    assert len(made) == n
    if len(wave) <= n:
        start = round(before * (n - len(wave)))
        assert torch.equal(made[start : start + len(wave)], wave)
        assert made.abs().sum() == wave.abs().sum()
    else:
        parts = [wave[at : at + n] for at in range(len(wave) - n + 1)]
        assert made.square().sum() == max(part.square().sum() for part in parts)
        assert any(torch.equal(made, part) for part in parts)


@given(st.lists(st.integers(1, 6000), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 9))
def test_waves_are_padded_to_whole_strips_or_cut(lengths: list[int], wide: int, most: int) -> None:
    waves = [torch.rand(n) + 0.1 for n in lengths]
    together, n_strips = padded(waves, most * wide, wide)
    frames = spectrogram(together).shape[2]
    assert frames == samples_of(frames) // HOP + 1 == int(n_strips.max()) * wide
    for row, wave, n in zip(together, waves, n_strips.tolist(), strict=True):
        assert torch.equal(row[: len(wave)], wave[: len(row)])
        assert not row[len(wave) :].any()
        needed = 1 + len(wave) // HOP  # moments that hear any of it
        assert n == min(most, -(-needed // wide))


def test_pauses_stand_before_between_and_behind() -> None:
    made = with_pauses([torch.tensor([1.0, 2.0]), torch.tensor([3.0])], [1, 0, 2])
    assert made.tolist() == [0, 1, 2, 3, 0, 0]
