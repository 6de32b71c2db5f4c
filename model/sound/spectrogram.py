"""From a recording to a picture of it: how loud each pitch is, moment by moment."""

import torch
from torch import Tensor

RATE = 8000  # samples a second
WINDOW, HOP = 256, 128  # samples: of a moment (32 ms), and from one moment to the next
PITCHES = 40
QUIETEST = 60.0  # dB below the loudest: fainter is silence


def mel(hertz: Tensor) -> Tensor:
    """Pitch on a scale on which equal steps sound alike.

    Source: O'Shaughnessy 1987, Speech Communication, p. 150: 2595 log₁₀(1 + f/700)
    """
    return 2595 * torch.log10(1 + hertz / 700)


def pitch_filters(n_pitches: int = PITCHES, window: int = WINDOW, rate: int = RATE) -> Tensor:
    """What share of each frequency counts for each pitch: triangles that overlap by half, equally wide in mel.

    Args:    n_pitches; window (samples): there are window/2+1 frequencies, from 0 to rate/2 Hz
    Returns: (n_pitches, window/2+1), from 0 to 1, lowest pitch first
    Source:  Davis and Mermelstein 1980, §II. Differs: corners on the mel scale from 0 Hz on
    """
    frequencies = torch.linspace(0, rate / 2, window // 2 + 1, dtype=torch.float64)
    highest = float(mel(torch.tensor(rate / 2, dtype=torch.float64)))
    corners = 700 * (10 ** (torch.linspace(0, highest, n_pitches + 2, dtype=torch.float64) / 2595) - 1)
    low, middle, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    return torch.minimum(rising, falling).clamp(min=0).float()


def spectrogram(waves: Tensor) -> Tensor:
    """How loud each pitch is at each moment, on a scale from 0 (60 dB below the loudest, or less) to 1 (the loudest).

    Args:    waves (B,N), any loudness; silence stands before the first sample and behind the last
    Returns: (B, pitches, 1 + N // HOP), lowest pitch first; of silence alone all is 0
    Source:  Gong et al. 2021 (AST), §2.1, log Mel filterbank features. Differs: 40 pitches of 8 kHz, Hann windows, and
             each recording on its own scale
    """
    padded = torch.nn.functional.pad(waves, (WINDOW // 2, WINDOW // 2))
    window = torch.hann_window(WINDOW, dtype=waves.dtype, device=waves.device)
    bent = torch.stft(padded, WINDOW, HOP, window=window, center=False, return_complex=True)  # (B,frequencies,frames)
    power = pitch_filters().to(waves) @ bent.abs().square()
    loudest = power.amax((1, 2), keepdim=True)
    decibels = 10 * torch.log10(power / loudest.clamp(min=1e-20) + 1e-20)
    return (1 + decibels / QUIETEST).clamp(min=0) * (loudest > 0)
