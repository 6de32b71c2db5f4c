"""Train readers of spoken digits: `python -m training.sounds DIGITS.npz --out FOLDER`.

DIGITS.npz holds recordings at 8 kHz: audio, all in a row (int16); offset (N+1), where each begins; label and speaker
(N); split and split_by_speaker (N), 0 for training, 2 for testing. Two Audio Spectrogram Transformers name one digit:
one learns from all voices and is tested on other recordings of them, one is tested on a voice that it has never heard.
A reader of strips hears digits spoken in a row. `--only NAME` trains one, `--steps` has it take fewer. Start the same
command again after a kill: it goes on from the last saved state. In the end the folder holds weights, the sizes,
metrics.json, some recordings of the test part and a card; it prints what was measured, with standard errors.
"""

import argparse
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from model.files import checkpoint
from model.files.load_sounds import (
    CONFIGS,
    JOINED,
    METRICS,
    NAMES,
    NEW_VOICE,
    SAMPLES,
    config_file,
    load_reader,
    new_reader,
)
from model.sound.ctc import BLANK, collapsed
from model.sound.spectrogram import HOP, PITCHES, spectrogram
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe, in_steps
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch
from training.pictures import right, share

CARD = Path(__file__).parent / "cards" / "sounds.md"
BATCH_SIZE, SEED = 64, 1
IN_A_ROW, MOST_IN_A_ROW = 32, 5  # rows of digits in a batch, digits in a row
PAUSE = 0.25  # seconds, at most, between digits in a row
SPEED = 1.2  # times as fast or as slow, at most; the pitch goes along
BENT = 0.12  # share by which a spectrogram is stretched or squeezed, at most, in time and in pitch, each alone
NOISE = 0.05  # of the loudest, at most, in every second recording
HIDDEN = (8, 12)  # pitches and frames, at most, that are hidden from it
MEASURED_ROWS, MEASURED_DIGITS = 300, 4  # rows of digits that the reader of strips is tested on, digits in each
RECIPE = Recipe(
    steps=12_000,
    peak_learning_rate=1.5e-3,
    warmup_steps=600,
    decay_fraction=0.5,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)


@dataclasses.dataclass(frozen=True)
class Recordings:
    """waves: each (n samples), the loudest 1 or −1; labels, speakers (N)"""

    waves: list[Tensor]
    labels: Tensor
    speakers: Tensor


def read_recordings(file: Path, part: int, split: str = "split") -> Recordings:
    """One part of the file: 0, 1 or 2; split: which of its two divisions. Raises: OSError or KeyError, naming the file
    or the part
    """
    with np.load(file) as held:
        at = np.flatnonzero(held[split] == part)
        audio, offset = held["audio"], held["offset"].astype(np.int64)
        labels, speakers = (torch.from_numpy(held[name][at]).long() for name in ("label", "speaker"))
    waves = [torch.from_numpy(audio[offset[n] : offset[n + 1]]).float() for n in at]
    return Recordings([wave / wave.abs().max().clamp(min=1) for wave in waves], labels, speakers)


def between(low: float, high: float, generator: torch.Generator, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=generator)


def faster(wave: Tensor, factor: float) -> Tensor:
    """The wave (n) played so many times as fast (n / factor): shorter and higher; between samples, a straight line."""
    n = max(2, round(len(wave) / factor))
    return nn.functional.interpolate(wave[None, None], n, mode="linear", align_corners=True)[0, 0]


def loudest(wave: Tensor, n: int) -> Tensor:
    """The n samples in a row with the most power, or the whole wave if it is shorter."""
    if len(wave) <= n:
        return wave
    power = torch.nn.functional.pad(wave.double().square().cumsum(0), (1, 0))
    start = int((power[n:] - power[:-n]).argmax())
    return wave[start : start + n]


def placed(wave: Tensor, n: int, share_before: float) -> Tensor:
    """The wave in n samples; share_before: of the silence, what stands before it. Of a longer one, its loudest part."""
    heard = loudest(wave, n)
    before = round(share_before * (n - len(heard)))
    return nn.functional.pad(heard, (before, n - len(heard) - before))


def noisy(waves: Tensor, generator: torch.Generator) -> Tensor:
    """Waves (B,N), every second one, by lot, with noise from 0 to NOISE."""
    loud = between(0, NOISE, generator, len(waves), 1) * (between(0, 1, generator, len(waves), 1) < 0.5)
    return waves + loud * torch.randn(waves.shape, generator=generator)


def bent(spectrograms: Tensor, generator: torch.Generator) -> Tensor:
    """Spectrograms (B,pitches,frames), each stretched or squeezed about its middle, in time and in pitch."""
    grids = torch.zeros(len(spectrograms), 2, 3)
    grids[:, 0, 0], grids[:, 1, 1] = between(1 - BENT, 1 + BENT, generator, 2, len(spectrograms))
    at = nn.functional.affine_grid(grids, list(spectrograms[:, None].shape), align_corners=False)
    return nn.functional.grid_sample(spectrograms[:, None], at, align_corners=False)[:, 0]


def masked(spectrograms: Tensor, generator: torch.Generator) -> Tensor:
    """With some pitches, and some frames, silenced: a band of each (Park et al. 2019, SpecAugment, §2)."""
    for axis, most in zip((1, 2), HIDDEN, strict=True):
        n, count = spectrograms.shape[axis], len(spectrograms)
        wide = torch.randint(most + 1, (count, 1), generator=generator)
        start = (between(0, 1, generator, count, 1) * (n - wide)).long()
        at = torch.arange(n)
        gone = (at >= start) & (at < start + wide)
        spectrograms = spectrograms.masked_fill(gone.unsqueeze(3 - axis), 0.0)
    return spectrograms


def varied(waves: Tensor, generator: torch.Generator) -> Tensor:
    """Waves (B,N) as spectrograms to learn from (B,pitches,frames)."""
    return masked(bent(spectrogram(noisy(waves, generator)), generator), generator)


def samples_of(frames: int) -> int:
    """How many samples make so many frames."""
    return (frames - 1) * HOP


def single(recordings: Recordings, frames: int) -> Iterator[Batch]:
    """Batches of one digit each, drawn with replacement; without end, and the same whenever they are asked for."""
    generator = torch.Generator().manual_seed(SEED + 1)
    while True:
        at = torch.randint(len(recordings.labels), (BATCH_SIZE,), generator=generator)
        speeds = SPEED ** between(-1, 1, generator, BATCH_SIZE)
        before = between(0, 1, generator, BATCH_SIZE)
        waves = [
            placed(faster(recordings.waves[n], speed), samples_of(frames), share_before)
            for n, speed, share_before in zip(at.tolist(), speeds.tolist(), before.tolist(), strict=True)
        ]
        yield {"spectrograms": varied(torch.stack(waves), generator), "labels": recordings.labels[at]}


def joined(recordings: Recordings, at: Tensor, pauses: Tensor, speeds: Tensor) -> Tensor:
    """Recordings (n) one after the other; pauses (n+1), in samples, before each and behind the last."""
    parts: list[Tensor] = [torch.zeros(int(pauses[0]))]
    for n, speed, pause in zip(at.tolist(), speeds.tolist(), pauses[1:].tolist(), strict=True):
        parts += [faster(recordings.waves[n], speed), torch.zeros(int(pause))]
    return torch.cat(parts)


def of_one_voice(recordings: Recordings, n: int, generator: torch.Generator) -> Tensor:
    """Indices of n recordings of one voice, drawn with replacement (n)."""
    speakers = recordings.speakers.unique()
    speaker = speakers[torch.randint(len(speakers), (1,), generator=generator)]
    own = (recordings.speakers == speaker).nonzero().flatten()
    return own[torch.randint(len(own), (n,), generator=generator)]


def padded(waves: list[Tensor], frames: int, wide: int) -> tuple[Tensor, Tensor]:
    """Waves of any length as one tensor (B,N), as long as the longest asks, and `frames` at most; the strips of each
    (B).
    """
    n_strips = torch.tensor([-(-(1 + len(wave) // HOP) // wide) for wave in waves]).clamp(max=frames // wide)
    n = samples_of(int(n_strips.max()) * wide)
    return torch.stack([nn.functional.pad(wave[:n], (0, max(0, n - len(wave)))) for wave in waves]), n_strips


def in_a_row(recordings: Recordings, frames: int, wide: int) -> Iterator[Batch]:
    """Batches of up to five digits of one voice in a row; otherwise as `single`. labels (B,5): classes + 1, then 0"""
    generator = torch.Generator().manual_seed(SEED + 1)
    while True:
        waves, labels = [], torch.zeros(IN_A_ROW, MOST_IN_A_ROW, dtype=torch.long)
        for row in range(IN_A_ROW):
            n = int(torch.randint(1, MOST_IN_A_ROW + 1, (1,), generator=generator))
            at = of_one_voice(recordings, n, generator)
            pauses = 8000 * between(0, PAUSE, generator, n + 1)
            waves.append(joined(recordings, at, pauses, SPEED ** between(-1, 1, generator, n)))
            labels[row, :n] = 1 + recordings.labels[at]
        together, n_strips = padded(waves, frames, wide)
        yield {"spectrograms": varied(together, generator), "n_strips": n_strips, "labels": labels}


def class_loss(network: nn.Module, batch: Batch) -> Tensor:
    return nn.functional.cross_entropy(network(batch["spectrograms"]), batch["labels"])


def path_loss(network: nn.Module, batch: Batch) -> Tensor:
    """−ln of the chance of all paths that collapse to the labels (Graves et al. 2006, §4.1, Eq. 12)."""
    chances = network(batch["spectrograms"], batch["n_strips"]).log_softmax(-1)
    n_labels = (batch["labels"] != BLANK).sum(1)
    return nn.functional.ctc_loss(
        chances.transpose(0, 1), batch["labels"], batch["n_strips"], n_labels, BLANK, zero_infinity=True
    )


def train(name: str, data: Path, out: Path, recipe: Recipe = RECIPE) -> dict[str, Any]:
    """Train and write one of them. Returns: seconds of its training, by the processor's clock; parameters; steps"""
    torch.manual_seed(SEED)
    config = CONFIGS[name]
    network = new_reader(name, config)
    known = read_recordings(data, 0, "split_by_speaker" if name == NEW_VOICE else "split")
    loss: Callable[[nn.Module, Batch], Tensor]
    if name == JOINED:
        batches, loss = in_a_row(known, config.frames, config.wide), path_loss
    else:
        batches, loss = single(known, config.frames), class_loss
    seconds = train_small(network, batches, recipe, loss, out / f"{name}.pt")
    checkpoint.save_weights(out / f"{name}.safetensors", network.state_dict())
    n_parameters = sum(p.numel() for p in network.parameters())
    figures = {"processor_seconds": round(seconds), "parameters": n_parameters, "steps": recipe.steps}
    (out / f"{name}.json").write_text(json.dumps(figures))
    return figures


def changes(heard: list[int], said: list[int]) -> int:
    """How many must be put in, taken out or exchanged to make one of the other (Levenshtein 1966)."""
    row = [*range(len(said) + 1)]
    for n, one in enumerate(heard, 1):
        before, row[0] = row[0], n
        for at, other in enumerate(said, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (one != other))
    return row[-1]


@torch.inference_mode()
def wrong_in_a_row(network: nn.Module, recordings: Recordings, frames: int, wide: int) -> list[float]:
    """Share of digits in a row that are heard wrong, and its standard error over rows, each of one voice, with pauses
    of any length up to PAUSE.
    """
    generator = torch.Generator().manual_seed(SEED + 2)
    rows = []
    for _ in range(MEASURED_ROWS):
        at = of_one_voice(recordings, MEASURED_DIGITS, generator)
        pauses = 8000 * between(0, PAUSE, generator, MEASURED_DIGITS + 1)
        wave, _ = padded([joined(recordings, at, pauses, torch.ones(MEASURED_DIGITS))], frames, wide)
        path = network(spectrogram(wave))[0].argmax(-1).tolist()
        rows.append(changes(collapsed(path), recordings.labels[at].tolist()) / MEASURED_DIGITS)
    wrong = torch.tensor(rows, dtype=torch.float64)
    return [round(wrong.mean().item(), 4), round(wrong.std().item() / len(rows) ** 0.5, 4)]


def heard_alone(recordings: Recordings, frames: int) -> Tensor:
    """Each recording in the middle of so many frames, as a spectrogram (N,pitches,frames)."""
    return spectrogram(torch.stack([placed(wave, samples_of(frames), 0.5) for wave in recordings.waves]))


def measured(data: Path, out: Path) -> dict[str, Any]:
    """What metrics.json says of all: their training, and what they hear of the parts kept for testing."""
    found: dict[str, Any] = {}
    for name in NAMES:
        network, config = load_reader(name, out).cpu(), CONFIGS[name]
        kept = read_recordings(data, 2, "split_by_speaker" if name == NEW_VOICE else "split")
        if name == JOINED:
            found[name] = wrong_in_a_row(network, kept, config.frames, config.wide)
        else:
            hits = right(network, heard_alone(kept, config.frames), kept.labels)
            found[name] = [*share(hits), len(hits)]
    recipe = {name: getattr(RECIPE, name) for name in ("steps", "warmup_steps", "decay_fraction", "peak_learning_rate")}
    variation = {"speed": SPEED, "bent": BENT, "noise": NOISE, "hidden": HIDDEN}
    return {
        "recipe": recipe | {"batch_size": BATCH_SIZE, "seed": SEED, "hardware": hardware()} | variation,
        "training": {name: json.loads((out / f"{name}.json").read_text()) for name in NAMES},
        "test": found,
        "in_a_row": {"rows": MEASURED_ROWS, "digits": MEASURED_DIGITS, "pause": PAUSE},
    }


def examples(recordings: Recordings) -> dict[str, Tensor]:
    """The first recording of each digit, by voices in turn, all in a row: waves (n) int16; ends, labels (10)."""
    voices = recordings.speakers.unique()
    at = [
        int(((recordings.labels == digit) & (recordings.speakers == voices[digit % len(voices)])).nonzero()[0])
        for digit in range(10)
    ]
    waves = [(32767 * recordings.waves[n]).round().short() for n in at]
    ends = torch.tensor([len(wave) for wave in waves]).cumsum(0)
    return {"waves": torch.cat(waves), "ends": ends, "labels": recordings.labels[at]}


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    percent = {name: f"{100 * found[0]:.1f} ± {100 * found[1]:.1f}" for name, found in metrics["test"].items()}
    return CARD.read_text(encoding="utf-8").format(
        of=metrics["test"],
        percent=percent,
        training=metrics["training"],
        row=metrics["in_a_row"],
        pitches=PITCHES,
        **metrics["recipe"],
    )


def finish(data: Path, out: Path) -> None:
    """Write the sizes, what was measured, samples and the card; print what was measured."""
    for name in NAMES:
        sizes = json.dumps(dataclasses.asdict(CONFIGS[name]), indent=2)
        (out / config_file(name)).write_text(sizes + "\n")
    save_file(examples(read_recordings(data, 2)), out / SAMPLES)
    metrics = measured(data, out)
    (out / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    for name, (mean, error, *_) in metrics["test"].items():
        print(f"{name}: {100 * mean:.1f}% ± {100 * error:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.sounds", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of recordings, see above")
    data = parser.parse_known_args()[0].data

    train_several(
        parser,
        NAMES,
        RECIPE.steps,
        lambda name, out, steps: train(name, data, out, in_steps(RECIPE, steps)),
        lambda out: finish(data, out),
    )


if __name__ == "__main__":
    main()
