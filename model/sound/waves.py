"""Waves of any length made as long as a reader wants them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from model.sound.spectrogram import HOP


def samples_of(frames: int) -> int:
    """How many samples make so many frames."""
    return (frames - 1) * HOP


def loudest(wave: Tensor, n: int) -> Tensor:
    """The n samples in a row with the most power, or the whole wave if it is shorter."""
    if len(wave) <= n:
        return wave
    power = nn.functional.pad(wave.double().square().cumsum(0), (1, 0))
    start = int((power[n:] - power[:-n]).argmax())
    return wave[start : start + n]


def placed(wave: Tensor, n: int, share_before: float) -> Tensor:
    """The wave in n samples; share_before: of the silence, what stands before it. Of a longer one, its loudest part."""
    heard = loudest(wave, n)
    before = round(share_before * (n - len(heard)))
    return nn.functional.pad(heard, (before, n - len(heard) - before))


def with_pauses(waves: Sequence[Tensor], pauses: Sequence[int]) -> Tensor:
    """Waves one after the other, with so many samples of silence before each and behind the last."""
    parts = [torch.zeros(pauses[0])]
    for wave, pause in zip(waves, pauses[1:], strict=True):
        parts += [wave, torch.zeros(pause)]
    return torch.cat(parts)


def padded(waves: Sequence[Tensor], frames: int, wide: int) -> tuple[Tensor, Tensor]:
    """Waves of any length as one tensor (B,N), as long as the longest asks, and `frames` at most; how many strips of
    `wide` frames each has (B).
    """
    n_strips = torch.tensor([-(-(1 + len(wave) // HOP) // wide) for wave in waves]).clamp(max=frames // wide)
    n = samples_of(int(n_strips.max()) * wide)
    return torch.stack([nn.functional.pad(wave[:n], (0, max(0, n - len(wave)))) for wave in waves]), n_strips
