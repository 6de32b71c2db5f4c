"""The readers of spoken digits: what they learn from, and what is measured of them."""

import itertools
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from model.sound.ctc import BLANK
from model.sound.spectrogram import HOP, RATE, spectrogram
from model.sound.waves import samples_of
from training import sounds as training


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def recordings(n: int = 12) -> training.Recordings:
    """Each of one value, by which it is known, and of its own length; of three voices."""
    waves = [torch.full((400 + 40 * at,), (1.0 + at) / n) for at in range(n)]
    return training.Recordings(waves, torch.arange(n) % 10, torch.arange(n) % 3)


def write_recordings(file: Path, n: int) -> Path:
    """Tones of many lengths; each third one for testing, each third voice too."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(800, 3000, n)
    waves = [20000 * np.sin(np.arange(long) * rng.uniform(0.2, 1.5)) for long in lengths]
    np.savez(
        file,
        audio=np.concatenate(waves).astype(np.int16),
        offset=np.cumsum([0, *lengths]).astype(np.uint32),
        label=np.arange(n) % 10,
        speaker=np.arange(n) // 10 % 3,
        speakers=["ann", "bob", "cem"],
        split=np.where(np.arange(n) // 30 % 2, 2, 0),
        split_by_speaker=np.where(np.arange(n) // 10 % 3 == 2, 2, 0),
    )
    return file


def test_the_parts_of_a_file_are_those_of_its_split(tmp_path: Path) -> None:
    file = write_recordings(tmp_path / "digits.npz", 60)
    with np.load(file) as held:
        for split, part in itertools.product(("split", "split_by_speaker"), (0, 2)):
            read, at = training.read_recordings(file, part, split), np.flatnonzero(held[split] == part)
            assert read.labels.tolist() == held["label"][at].tolist()
            assert read.speakers.tolist() == held["speaker"][at].tolist()
            for wave, n in zip(read.waves, at, strict=True):
                own = held["audio"][held["offset"][n] : held["offset"][n + 1]].astype(np.float32)
                assert np.allclose(wave.numpy(), own / np.abs(own).max())


@given(st.floats(0.5, 2.0))
def test_a_faster_wave_is_shorter_and_higher(factor: float) -> None:
    tone = torch.sin(2 * torch.pi * 200 * torch.arange(RATE) / RATE)
    changed = training.faster(tone, factor)
    assert len(changed) == round(RATE / factor)
    loudest = int(torch.fft.rfft(changed).abs().argmax()) * RATE / len(changed)
    assert loudest == pytest.approx(200 * factor, abs=2)


def test_noise_is_in_every_second_wave_and_never_too_loud() -> None:
    added = training.noisy(torch.zeros(400, 2000), generator())
    loud = added.std(1)
    assert 0.4 < (loud > 0).double().mean() < 0.6
    assert loud.max() < 1.1 * training.NOISE
    assert loud.max() > 0.8 * training.NOISE


def test_spectrograms_are_bent_about_their_middle_in_time_and_in_pitch() -> None:
    """Two dots, as far from the middle along each axis: they move in or out together, each axis by its own share."""
    drawn = torch.zeros(60, 41, 65)
    drawn[:, [10, 30], 32] = drawn[:, 20, [12, 52]] = 1.0
    made = training.bent(drawn, generator())
    at = torch.arange(41.0)
    high = made[:, 22:, 30:35].sum(2)
    moved = (high * at[22:]).sum(1) / high.sum(1) - 20
    in_time, in_pitch = training.BENT
    assert moved.min() < 10 * (1 - 0.7 * in_pitch)
    assert moved.max() > 10 * (1 + 0.7 * in_pitch)
    assert ((10 / moved - 1).abs() < 1.1 * in_pitch).all()
    late = made[:, 18:23, 36:].sum(1)
    apart = (late * torch.arange(36.0, 65)).sum(1) / late.sum(1) - 32
    assert ((20 / apart - 1).abs() < 1.1 * in_time).all()
    assert torch.corrcoef(torch.stack([moved, apart]))[0, 1].abs() < 0.5


def test_each_axis_has_its_own_share_and_a_voice_is_raised_or_lowered() -> None:
    drawn = torch.zeros(200, 41, 65)
    drawn[:, 20, 32] = 1.0  # the middle moves by raising alone
    at = torch.arange(41.0) - 20
    made = training.bent(drawn, generator(), (0.0, 0.0), raised=0.2)
    moved = (made.sum(2) * at).sum(1) / made.sum((1, 2))
    assert moved.abs().max() < 0.2 * 41 / 2 + 0.5
    assert moved.min() < -2.5
    assert moved.max() > 2.5
    assert (made.sum(1).argmax(1) == 32).all()  # never in time
    drawn = torch.zeros(100, 41, 65)
    drawn[:, 20, [12, 52]] = 1.0
    still = training.bent(drawn, generator(), (0.0, 0.5))
    in_time = still.sum((0, 1))
    assert {int(at) for at in (in_time > 0.01).nonzero()} == {12, 52}  # no share in time: they stay where they are


def test_another_microphone_makes_some_pitches_louder_at_all_times_alike() -> None:
    flat = torch.full((100, 40, 6), 0.6)
    made = training.through_a_microphone(flat, generator())
    assert torch.allclose(made, made[:, :, :1].expand_as(made))
    assert torch.allclose(made.amax((1, 2)), torch.ones(100))
    curves = made[:, :, 0]
    span = curves.amax(1) - curves.amin(1)
    most = 2 * training.COLOUR / 60 * sum(1 / (1 + n / 2) for n in range(1, training.WAVES))
    assert span.max() < most
    assert span.max() > 0.3
    assert span.min() < 0.15
    assert not torch.allclose(curves[0], curves[1])
    quiet = torch.zeros(3, 40, 6)
    quiet[:, 7, 2] = 1.0
    assert (training.through_a_microphone(quiet, generator()) >= 0).all()


def test_one_band_of_pitches_and_one_of_moments_are_silenced() -> None:
    made = training.masked(torch.ones(200, 40, 64), generator())
    for axis, most in zip((1, 2), training.HIDDEN, strict=True):
        gone = (made.amax(3 - axis) == 0).int()
        assert gone.sum(1).max() == most
        assert gone.sum(1).min() == 0
        assert ((gone.diff(dim=1) == 1).sum(1) + gone[:, 0] <= 1).all()  # one band, without a gap


def test_batches_are_the_same_every_time_and_of_these_recordings_alone() -> None:
    known = recordings()
    for make, inputs in ((training.single, {}), (training.in_a_row, {"wide": 4})):
        first, again = (next(make(known, 64, **inputs)) for _ in range(2))
        assert all(torch.equal(first[name], again[name]) for name in first)
    assert first["labels"].amax(1).min() > 0
    assert {int(n) for n in (first["labels"] > 0).sum(1)} == {1, 2, 3, 4, 5}


def test_what_a_batch_holds_is_named_right(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("varied", "varied_alone"):
        monkeypatch.setattr(training, name, lambda waves, generator: waves)
    known = recordings()
    one = next(training.single(known, 64))
    assert one["spectrograms"].shape == (training.BATCH_SIZE, 63 * HOP)
    values = (12 * one["spectrograms"].amax(1)).round().long() - 1
    assert torch.equal(known.labels[values], one["labels"])
    begins = (one["spectrograms"] > 0).int().argmax(1) / (63 * HOP - (one["spectrograms"] > 0).sum(1))
    assert begins.min() < 0.1 < 0.9 < begins.max()  # a digit stands anywhere
    lengths = (one["spectrograms"] > 0).sum(1) / torch.tensor([len(known.waves[n]) for n in values])
    assert lengths.min() < 0.9 < 1.1 < lengths.max()
    assert lengths.min() > 1 / training.SPEED - 0.01
    assert lengths.max() < training.SPEED + 0.01
    row = next(training.in_a_row(known, 320, 4))
    for wave, labels, n_strips in zip(row["spectrograms"], row["labels"], row["n_strips"], strict=True):
        heard = [int((12 * value).round()) - 1 for value in torch.unique_consecutive(wave) if value > 0]
        said = [int(label) - 1 for label in labels if label]
        merged = [value for value, _ in itertools.groupby(said)]
        assert [known.labels[n] for n in heard] in (said, merged)  # with no pause at all, equal ones are one
        assert len({int(known.speakers[n]) for n in heard}) == 1
        assert -(-(1 + int(wave.nonzero().max()) // HOP) // 4) <= int(n_strips) <= 80


def test_recordings_are_joined_with_their_pauses() -> None:
    known = recordings()
    wave = training.joined(known, torch.tensor([3, 0]), torch.tensor([5.0, 7.9, 2.0]), torch.tensor([1.0, 2.0]))
    expected = [torch.zeros(5), known.waves[3], torch.zeros(7), torch.full((200,), 1 / 12), torch.zeros(2)]
    assert torch.equal(wave, torch.cat(expected))


@cache
def distance(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """From the definition."""
    if not one or not other:
        return len(one) + len(other)
    ways = distance(one[1:], other) + 1, distance(one, other[1:]) + 1, distance(one[1:], other[1:])
    return min(ways[0], ways[1], ways[2] + (one[0] != other[0]))


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_changes_are_the_fewest_that_make_one_of_the_other(one: list[int], other: list[int]) -> None:
    assert training.changes(one, other) == distance(tuple(one), tuple(other))


class HearsTones(nn.Module):
    """Says 1 for a strip that is loudest below, 5 for one that is loudest above, nothing for a silent one."""

    def forward(self, spectrograms: Tensor) -> Tensor:
        loud = spectrograms.unflatten(2, (-1, 4)).mean(3)
        said = torch.where(loud.argmax(1) < 20, 2, 6).masked_fill(loud.amax(1) < 0.4, BLANK)
        return nn.functional.one_hot(said, 11).float()


def test_what_is_heard_wrong_is_counted_by_digits() -> None:
    low, high = (torch.sin(2 * torch.pi * hertz * torch.arange(2000) / RATE) for hertz in (300, 2500))

    def wrong(*labels: int) -> list[float]:
        known = training.Recordings([low, high], torch.tensor(labels), torch.zeros(2))
        return training.wrong_in_a_row(HearsTones(), known, 320, 4)

    assert wrong(1, 5)[0] < 0.2  # where the pause is short, two equal ones are one
    share, error = wrong(1, 7)
    assert 0.45 < share < 0.65  # every second digit, one more where two are one
    assert error == pytest.approx((0.25 / training.MEASURED_DIGITS / training.MEASURED_ROWS) ** 0.5, rel=0.25)
    assert wrong(5, 1)[0] > 0.5
    assert wrong(7, 8)[0] == 1.0


def test_the_loss_of_a_row_counts_its_own_strips_alone() -> None:
    logits = torch.randn(2, 6, 4, generator=generator())
    batch = {"spectrograms": logits, "n_strips": torch.tensor([6, 3]), "labels": torch.tensor([[1, 2], [3, 0]])}
    found = training.path_loss(lambda spectrograms, n_strips: spectrograms, batch)  # type: ignore[arg-type]
    chances = logits.log_softmax(-1)
    one = nn.functional.ctc_loss(chances[0], torch.tensor([1, 2]), [6], [2], reduction="sum") / 2
    other = nn.functional.ctc_loss(chances[1, :3], torch.tensor([3]), [3], [1], reduction="sum")
    assert found.item() == pytest.approx((one + other).item() / 2, rel=1e-5)


def test_a_row_with_more_digits_than_strips_is_left_out() -> None:
    batch = {"spectrograms": torch.zeros(1, 2, 4), "n_strips": torch.tensor([2]), "labels": torch.tensor([[1, 1, 1]])}
    assert training.path_loss(lambda spectrograms, n_strips: spectrograms, batch) == 0  # type: ignore[arg-type]


def test_a_digit_alone_is_bent_and_raised_more_and_tested_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(training, "bent", lambda spectrograms, generator, *how: given.append(how) or spectrograms)
    training.varied_alone(torch.zeros(2, 63 * HOP), generator())
    training.varied(torch.zeros(2, 63 * HOP), generator())
    assert given == [(training.BENT_ALONE, training.RAISED), ()]
    click = training.Recordings([torch.ones(8)], torch.tensor([0]), torch.tensor([0]))
    assert training.heard_alone(click, 65)[0].amax(0).argmax() == 32


@pytest.mark.slow  # trains
def test_the_command_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_recordings(tmp_path / "digits.npz", 90), tmp_path / "out"
    monkeypatch.setattr(training, "MEASURED_ROWS", 5)
    learned = {}
    for name in ("single", "in_a_row"):
        make = getattr(training, name)

        def noted(known: training.Recordings, *sizes: int, make=make):  # type: ignore[no-untyped-def]
            learned[reader] = len(known.labels), {*known.speakers.tolist()}
            return make(known, *sizes)

        monkeypatch.setattr(training, name, noted)
    tested, alone = [], training.heard_alone
    monkeypatch.setattr(
        training, "heard_alone", lambda known, n: tested.append({*known.speakers.tolist()}) or alone(known, n)
    )
    for reader in training.NAMES:
        monkeypatch.setattr("sys.argv", ["", str(file), "--out", str(out), "--only", reader, "--steps", "2"])
        training.main()
    assert learned == {"voices": (60, {0, 1, 2}), "new-voice": (60, {0, 1}), "joined": (60, {0, 1, 2})}
    assert tested == [{0, 1, 2}, {2}]  # the reader of new voices by the one that it never heard
    weights = {f"{name}.safetensors" for name in (*training.NAMES, "samples")}
    assert {path.name for path in out.iterdir()} == weights | {
        "config.json",
        "joined.config.json",
        "metrics.json",
        "README.md",
    }
    kept = json.loads((out / "metrics.json").read_text())
    assert kept["test"]["voices"][2] == kept["test"]["new-voice"][2] == 30
    assert {of["steps"] for of in kept["training"].values()} == {2}
    assert (out / "README.md").read_text() == training.card(kept)
    held, tests = load_file(out / "samples.safetensors"), training.read_recordings(file, 2)
    ends = [0, *held["ends"].tolist()]
    for n in range(30):  # of each voice ten, by digits
        wave = held["waves"][ends[n] : ends[n + 1]].float() / 32767
        own = (tests.speakers * 10 + tests.labels == n).nonzero()
        assert torch.allclose(wave, tests.waves[int(own[0])], atol=1e-4)
    assert (kept["voices"], kept["never_heard"]) == (["ann", "bob", "cem"], ["cem"])
    assert "voices: " in capsys.readouterr().out


def test_the_recipe_is_the_one_that_the_figures_are_of() -> None:
    assert training.RECIPES["joined"].steps == 12_000
    assert {training.RECIPES[name].steps for name in ("voices", "new-voice")} == {8_000}
    assert (training.BATCH_SIZE, training.IN_A_ROW, training.SPEED) == (64, 32, 1.2)
    assert (training.BENT, training.BENT_ALONE, training.RAISED) == ((0.12, 0.12), (0.12, 0.2), 0.1)
    assert (training.COLOUR, training.WAVES) == (15, 5)
    kept = json.loads(Path("assets/models/sounds/metrics.json").read_text())
    given = {name: getattr(training.ALONE, name) for name in ("warmup_steps", "decay_fraction", "peak_learning_rate")}
    given |= {"hidden": [*training.HIDDEN], "noise": training.NOISE, "speed": training.SPEED, "seed": training.SEED}
    assert given.items() <= kept["recipe"].items()
    assert kept["in_a_row"] == {
        "rows": training.MEASURED_ROWS, "digits": training.MEASURED_DIGITS, "pause": training.PAUSE
    }  # fmt: skip
    assert spectrogram(torch.zeros(1, samples_of(64))).shape[2] == 64


def test_a_short_training_warms_up_in_a_tenth_of_its_steps() -> None:
    assert training.in_steps(training.ALONE, 8_000) == training.ALONE
    short = [(made.steps, made.warmup_steps) for made in (training.in_steps(training.ALONE, n) for n in (2, 300))]
    assert short == [(2, 1), (300, 30)]
