"""Training the adders: how a sum is written, which are learned, what is measured, what the command writes."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from model.families.sums import SHIPPED, SIGNS, SIZES, learned_sums, load_adder, sums_metrics
from training import sums as training


def tensors(*pairs: tuple[int, int]) -> tuple[Tensor, Tensor]:
    a, b = torch.tensor(pairs).T
    return a, b


def test_a_sum_has_four_digits_a_number_and_its_answer_backwards() -> None:
    rows = training.rows(*tensors((347, 285), (0, 7), (999, 999), (9999, 9999)))
    assert ["".join(SIGNS[id] for id in row) for row in rows.tolist()] == [
        "0347+0285=23600",
        "0000+0007=70000",
        "0999+0999=89910",
        "9999+9999=89991",
    ]


def test_every_sum_has_one_place_in_the_order_and_the_smaller_sets_lie_in_the_larger() -> None:
    a, b = training.in_random_order()
    assert torch.equal((a * 1000 + b).sort().values, torch.arange(1_000_000))
    for size in (SIZES[0], SIZES[-1]):
        allowed = set(zip(a[:size].tolist(), b[:size].tolist(), strict=True))
        ids, again = (next(training.batches(size))["ids"] for _ in range(2))
        assert torch.equal(ids, again)
        texts = ["".join(SIGNS[id] for id in row) for row in ids.tolist()]
        assert {(int(text[:4]), int(text[5:9])) for text in texts} <= allowed
        assert all(int(text[:4]) + int(text[5:9]) == int(text[:9:-1]) for text in texts)


def test_no_sum_to_measure_on_was_learned_nor_its_mirror() -> None:
    learned = {(int(a), int(b)) for a, b in learned_sums()}
    known = learned | {(b, a) for a, b in learned}
    assert (367, 285) not in known, "the page opens with it"
    kinds = training.to_measure()
    assert {kind: len(a) for kind, (a, _) in kinds.items()} == dict.fromkeys(kinds, training.N_MEASURED)
    (a, b), longer = kinds["unseen"], torch.stack(kinds["longer"])
    assert not known & set(zip(a.tolist(), b.tolist(), strict=True))
    assert 1000 <= longer.min() <= longer.max() <= 9999
    firsts, seconds = training.drawn_map()
    cells = torch.stack([firsts // training.CELL, seconds // training.CELL], 1).unique(dim=0, return_counts=True)
    assert len(cells[0]) == training.N_CELLS**2
    assert set(cells[1].tolist()) == {training.N_IN_CELL}
    assert not known & set(zip(firsts.tolist(), seconds.tolist(), strict=True))


class KnowsDigits(nn.Module):
    """Adds the last `n` digits of both numbers, and drops what is before them."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.somewhere = nn.Parameter(torch.zeros(1))  # a network is where its parameters are

    def forward(self, ids: Tensor) -> Tensor:
        power = 10 ** torch.arange(3, -1, -1)
        total = (ids[:, :4] * power).sum(1) % 10**self.n + (ids[:, 5:9] * power).sum(1) % 10**self.n
        digits = torch.cat([torch.zeros(len(ids), 9, dtype=torch.long), training.backwards(total, 5)], 1)
        return nn.functional.one_hot(digits[:, : ids.shape[1]], len(SIGNS)).float() * 50


def test_a_share_counts_whole_answers_and_how_sure_the_wrong_ones_were() -> None:
    sums = tensors((999, 2), (1000, 2), (1999, 2), (3, 4))
    assert training.measure(KnowsDigits(3), *sums) == {"right": [0.5, 0.25], "sure_when_wrong": 1.0, "sums": 4}
    assert training.measure(KnowsDigits(4), *sums) == {"right": [1.0, 0.0], "sure_when_wrong": None, "sums": 4}
    batch = next(training.batches(SIZES[0]))
    assert training.loss(KnowsDigits(4), batch).item() < 1e-6
    assert training.loss(KnowsDigits(1), batch).item() > 10


@pytest.mark.slow  # trains
def test_the_command_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = dataclasses.replace(training.CONFIG, d_model=8, n_heads=2, n_layers=1, d_ff=8)
    for name, value in {"CONFIG": small, "N_MEASURED": 20, "N_IN_CELL": 1}.items():
        monkeypatch.setattr(training, name, value)
    for size in SIZES:
        monkeypatch.setattr("sys.argv", ["", "--out", str(tmp_path), "--only", str(size), "--steps", "2"])
        training.main()
        if size == SIZES[0]:
            assert {path.name for path in tmp_path.glob("*.json")} == {"config.json", f"{size}.json"}, "it alone"
    names = {"config.json", "metrics.json", "README.md", "learned.safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == names | {f"{size}.safetensors" for size in SIZES}
    assert learned_sums(tmp_path).shape == (SIZES[-1], 2)
    assert np.shape(json.loads((tmp_path / "metrics.json").read_text())["map"]["right"]["200"]) == (20, 20)
    assert "500 sums: learned " in capsys.readouterr().out


def test_the_shipped_adders_reach_what_they_must() -> None:
    kept = sums_metrics()
    test = kept["test"]["20000"]
    told = {"batch_size": training.BATCH_SIZE, "seed": training.SEED, "of": 1_000_000}
    assert kept["recipe"] == {"hardware": kept["recipe"]["hardware"], **told} | {
        name: getattr(training.RECIPE, name)
        for name in ("steps", "warmup_steps", "decay_fraction", "peak_learning_rate")
    }
    unseen, longer = (100 * test[kind]["right"][0] for kind in ("unseen", "longer"))
    assert unseen >= 99
    assert longer <= 10
    readme = (SHIPPED.parents[2] / "README.md").read_text(encoding="utf-8")
    shares = ", ".join(f"{100 * of['unseen']['right'][0]:.1f}" for of in kept["test"].values())
    assert f"| {shares}%; {longer:.1f}% |" in readme
    assert (SHIPPED / "README.md").read_text(encoding="utf-8") == training.card(kept)
    files = [SHIPPED / f"{size}.safetensors" for size in SIZES]
    assert sum(file.stat().st_size for file in files) < 2e6
    assert all(w.dtype == torch.float16 for file in files for w in load_file(file).values())
    a, b = training.in_random_order()
    assert learned_sums().tolist() == torch.stack([a, b], 1)[: SIZES[-1]].tolist()


@pytest.mark.parametrize("size", SIZES)
def test_the_shipped_weights_answer_as_the_figures_say(size: int) -> None:
    """A count on other sums than those of the figures, which differ by chance alone."""
    generator = torch.Generator().manual_seed(11)
    a, b = torch.randint(1000, (2, 300), generator=generator)
    new = training.unseen(a, b)
    network, kept = load_adder(size).model, sums_metrics()["test"][str(size)]
    for kind, sums in {"unseen": (a[new], b[new]), "longer": (a + 1000, b + 4000)}.items():
        share = kept[kind]["right"][0]
        error = (max(share * (1 - share), 0.003) / 290) ** 0.5
        assert abs(training.measure(network, *sums)["right"][0] - share) < 4 * error, kind
