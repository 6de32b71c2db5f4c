"""Train readers of spoken digits: `python -m training.sounds DIGITS.npz --out FOLDER`.

DIGITS.npz holds recordings at 8 kHz: audio, all in a row (int16); offset (N+1), where each begins; label and speaker
(N); speakers, their names; split and split_by_speaker (N), 0 for training, 2 for testing. Two Audio Spectrogram
Transformers name one digit: one learns from all voices and is tested on other recordings of them, one is tested on a
voice that it has never heard. A reader of strips hears digits spoken in a row. `--only NAME` trains one, `--steps` has
it take fewer. Start the same command again after a kill: it goes on from the last saved state. In the end the folder
holds weights, the sizes, metrics.json, some recordings of the test part and a card; it prints what was measured, with
standard errors.
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
    VOICES,
    config_file,
    load_reader,
    new_reader,
)
from model.sound.ctc import BLANK, collapsed
from model.sound.spectrogram import PITCHES, QUIETEST, spectrogram
from model.sound.waves import padded, placed, samples_of, with_pauses
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
BENT = 0.12, 0.12  # shares by which a spectrogram is stretched or squeezed, at most, in time and in pitch, each alone
BENT_ALONE = 0.12, 0.2  # the same where digits come one by one
RAISED = 0.1  # share of half the pitches by which one digit is raised or lowered, at most
COLOUR, WAVES = 15.0, 5  # dB, at most, of each wave of the curve that stands for another microphone; waves
NOISE = 0.05  # of the loudest, at most, in every second recording
HIDDEN = (8, 12)  # pitches and frames, at most, that are hidden from it
MEASURED_ROWS, MEASURED_DIGITS = 300, 4  # rows of digits that the reader of strips is tested on, digits in each
ALONE = Recipe(
    steps=8_000,
    peak_learning_rate=1.5e-3,
    warmup_steps=600,
    decay_fraction=0.5,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)
RECIPES = {VOICES: ALONE, NEW_VOICE: ALONE, JOINED: in_steps(ALONE, 12_000)}


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


def noisy(waves: Tensor, generator: torch.Generator) -> Tensor:
    """Waves (B,N), every second one, by lot, with noise from 0 to NOISE."""
    loud = between(0, NOISE, generator, len(waves), 1) * (between(0, 1, generator, len(waves), 1) < 0.5)
    return waves + loud * torch.randn(waves.shape, generator=generator)


def through_a_microphone(spectrograms: Tensor, generator: torch.Generator) -> Tensor:
    """Spectrograms (B,pitches,frames) as another microphone would have them: each with a curve of its own added, that
    makes some pitches louder and others fainter.
    """
    nth, pitches = torch.arange(WAVES), torch.arange(spectrograms.size(1))
    waves = torch.cos(torch.pi * nth[:, None] * (pitches + 0.5) / len(pitches))
    loud = between(-1, 1, generator, len(spectrograms), WAVES) / (1 + nth / 2)
    curved = (spectrograms + COLOUR / QUIETEST * (loud @ waves)[:, :, None]).clamp(min=0)
    return (1 + curved - curved.amax((1, 2), keepdim=True)).clamp(min=0)  # the loudest is 1, as always


def bent(
    spectrograms: Tensor, generator: torch.Generator, most: tuple[float, float] = BENT, raised: float = 0.0
) -> Tensor:
    """Spectrograms (B,pitches,frames), each stretched or squeezed about its middle, in time and in pitch, and raised or
    lowered.
    """
    n = len(spectrograms)
    grids = torch.zeros(n, 2, 3)
    for axis, each in enumerate(most):
        grids[:, axis, axis] = between(1 - each, 1 + each, generator, n)
    grids[:, 1, 2] = between(-raised, raised, generator, n)
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


def varied_alone(waves: Tensor, generator: torch.Generator) -> Tensor:
    """The same for readers of one digit, one of which is to understand a voice that it has never heard: as if more
    voices and microphones had been there.
    """
    heard = through_a_microphone(spectrogram(noisy(waves, generator)), generator)
    return masked(bent(heard, generator, BENT_ALONE, RAISED), generator)


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
        yield {"spectrograms": varied_alone(torch.stack(waves), generator), "labels": recordings.labels[at]}


def joined(recordings: Recordings, at: Tensor, pauses: Tensor, speeds: Tensor) -> Tensor:
    """Recordings (n) one after the other; pauses (n+1), in samples, before each and behind the last."""
    waves = [faster(recordings.waves[n], speed) for n, speed in zip(at.tolist(), speeds.tolist(), strict=True)]
    return with_pauses(waves, pauses.int().tolist())


def of_one_voice(recordings: Recordings, n: int, generator: torch.Generator) -> Tensor:
    """Indices of n recordings of one voice, drawn with replacement (n)."""
    speakers = recordings.speakers.unique()
    speaker = speakers[torch.randint(len(speakers), (1,), generator=generator)]
    own = (recordings.speakers == speaker).nonzero().flatten()
    return own[torch.randint(len(own), (n,), generator=generator)]


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


def train(name: str, data: Path, out: Path, recipe: Recipe) -> dict[str, Any]:
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
    recipe = {name: getattr(ALONE, name) for name in ("warmup_steps", "decay_fraction", "peak_learning_rate")}
    variation = {"speed": SPEED, "bent": BENT, "noise": NOISE, "hidden": HIDDEN}
    variation |= {"bent_alone": BENT_ALONE, "raised": RAISED, "colour": COLOUR}
    with np.load(data) as held:
        voices = held["speakers"].tolist()
        learned = held["speaker"][held["split_by_speaker"] == 0]
    return {
        "voices": voices,
        "never_heard": [voice for n, voice in enumerate(voices) if n not in learned],  # by the reader of new voices
        "recipe": recipe | {"batch_size": BATCH_SIZE, "seed": SEED, "hardware": hardware()} | variation,
        "training": {name: json.loads((out / f"{name}.json").read_text()) for name in NAMES},
        "test": found,
        "in_a_row": {"rows": MEASURED_ROWS, "digits": MEASURED_DIGITS, "pause": PAUSE},
    }


def examples(recordings: Recordings) -> dict[str, Tensor]:
    """The first recording of each digit by each voice, all in a row, the digits of one voice together: waves (n) int16;
    ends (10 times the voices).
    """
    at = [
        int(((recordings.labels == digit) & (recordings.speakers == voice)).nonzero()[0])
        for voice in recordings.speakers.unique()
        for digit in range(10)
    ]
    waves = [(32767 * recordings.waves[n]).round().short() for n in at]
    return {"waves": torch.cat(waves), "ends": torch.tensor([len(wave) for wave in waves]).cumsum(0)}


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
        0,  # as many as the recipe of each says
        lambda name, out, steps: train(name, data, out, in_steps(RECIPES[name], steps or RECIPES[name].steps)),
        lambda out: finish(data, out),
    )


if __name__ == "__main__":
    main()
