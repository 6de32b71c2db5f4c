"""Training the copiers: the rows, what is measured, what the command writes, and what was shipped."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from model.families.copying import ASKS, KINDS, LETTERS, NOISE, PLACES, SHIPPED, Copier, CopyingConfig, copying_metrics
from model.families.copying import N_LETTERS as N
from model.files.checkpoint import CheckpointError
from training import copying


def test_rows_have_letters_in_their_order_among_noise_and_then_as_many_questions() -> None:
    ids, letters = copying.drawn(500, 31, torch.Generator().manual_seed(1))
    assert (ids[:, 31:] == ASKS).all()
    body = ids[:, :31]
    assert body[body != NOISE].reshape(500, N).tolist() == letters.tolist()
    assert letters.unique().tolist() == list(range(1, len(LETTERS) + 1))
    assert (body != NOISE).float().mean(0).sub(N / 31).abs().max() < 0.08, "every place has a letter as often"
    first, again = (next(copying.batches())["ids"] for _ in range(2))
    assert torch.equal(first, again)
    assert first.shape == (copying.BATCH_SIZE, PLACES + N)


class Knows(nn.Module):
    """Says the first `n` letters of each row right, and `a` for the others."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def forward(self, ids: Tensor) -> Tensor:
        said = torch.ones_like(ids)
        start = ids.size(1) - N
        said[:, start : start + self.n] = torch.stack([row[(row != NOISE) & (row != ASKS)][: self.n] for row in ids])
        return nn.functional.one_hot(said, ASKS + 1).float() * 1e3


def test_a_share_counts_letters_and_its_error_rows() -> None:
    assert copying.share(Knows(5).eval(), 20, seed=3, n_rows=200)[0] == pytest.approx(5 / 6 + 1 / 48, abs=0.01)
    right, error = copying.share(Knows(0), 20, seed=3, n_rows=1000)
    assert right == pytest.approx(1 / 8, abs=0.02)
    assert error == pytest.approx((7 / 64 / 6 / 1000) ** 0.5, rel=0.1)


def test_the_loss_is_of_the_letters_asked_for() -> None:
    batch = next(copying.batches())
    assert copying.loss(Knows(N), batch).item() == pytest.approx(0, abs=1e-3)
    assert copying.loss(Knows(5), batch).item() == pytest.approx(1e3 / 6 * 7 / 8, rel=0.5)


@pytest.mark.slow  # trains
def test_the_command_keeps_the_better_rate_and_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = CopyingConfig(d_model=8, d_inner=12, n_layers=1, n_states=2, rank=1, n_complex=2)
    monkeypatch.setattr(copying, "CopyingConfig", lambda: small)
    monkeypatch.setattr(copying, "N_ROWS", 20)
    monkeypatch.setattr(copying, "PLACES", 9)  # a step for each is what takes long
    monkeypatch.setattr(copying.share, "__defaults__", (20,))
    for kind in KINDS:
        monkeypatch.setattr("sys.argv", ["", "--out", str(tmp_path), "--only", kind, "--steps", "3"])
        copying.main()
    written = {"config.json", "metrics.json", "README.md", *(f"{kind}.safetensors" for kind in KINDS)}
    assert {path.name for path in tmp_path.iterdir()} == written
    trained = json.loads((tmp_path / "metrics.json").read_text())["training"]
    for kind in KINDS:
        tried, kept = trained[kind]["tried"], trained[kind]["kept"]["rate"]
        assert [*tried] == [f"{rate:g}" for rate in copying.RATES]
        assert tried[f"{kept:g}"] == max(tried.values())
    assert "selective, 128 places: " in capsys.readouterr().out


def test_the_shipped_copiers_reach_what_they_must_and_were_trained_alike() -> None:
    metrics = copying_metrics()
    recipe, trained, test = metrics["recipe"], metrics["training"], metrics["test"]
    assert recipe["steps"] == copying.RECIPE.steps
    assert recipe["rates"] == list(copying.RATES)
    assert test["rows"] == copying.N_ROWS
    right, others = (test[kind]["128"][0] for kind in KINDS)
    assert right >= 0.95
    assert others <= 0.4
    assert f"| {right:.1%}, {others:.1%} |" in (SHIPPED.parents[2] / "README.md").read_text(encoding="utf-8")
    sizes = [sum(p.numel() for p in Copier(CopyingConfig(), kind).parameters()) for kind in KINDS]
    assert sizes == [trained[kind]["parameters"] for kind in KINDS]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)
    assert sum((SHIPPED / f"{kind}.safetensors").stat().st_size for kind in KINDS) < 1e6
    assert (SHIPPED / "README.md").read_text(encoding="utf-8") == copying.card(metrics)
    assert all(w.dtype == torch.float16 for kind in KINDS for w in load_file(SHIPPED / f"{kind}.safetensors").values())


@pytest.mark.parametrize("content", [None, "{", "no figures"])
def test_figures_that_cannot_be_read_are_told_in_one_sentence(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "metrics.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"metrics\.json (is missing|cannot be read .*)\. .*git checkout"):
        copying_metrics(tmp_path)
