"""Siblings of bert-mini: in what they differ from it, and how they learn, on little models and texts."""

import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from model.config import PRESETS
from model.files.loaded_model import MODELS, model_names
from tests.training.family_text import RECIPE, SIZES, shrink, write_texts
from training import descendants
from training.descendants import SIBLINGS, TEACHER, Descent, Sibling
from training.family import RECIPES
from training.loop import resumable_run
from training.loop.reading import OF_TEACHER, OF_TEXT, Reading, Way, divergence, layers_of
from training.loop.text_rows import NO_PAIR

pytestmark = pytest.mark.slow  # trains


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    shrink(monkeypatch)
    monkeypatch.setitem(PRESETS, "bert-mini", dataclasses.replace(PRESETS["bert-mini"], n_layers=2))
    monkeypatch.setattr(resumable_run, "pick_precision", lambda: "no")
    return write_texts(tmp_path)


def reading(files: tuple[Path, Path], way: Way) -> Reading:
    return Reading(Descent("x", files[:1], files[1:], files[0].parent, RECIPE, way=way), way)


def epoch(subject: Reading, n: int) -> list[dict[str, Any]]:
    """The rows of an epoch by their content, whatever batches they lie in."""
    names = ("labels", "segment_ids", "src_ids")
    batches = [{name: batch[name].tolist() for name in names} for batch in subject.loader(n, 1)]
    rows = [dict(zip(names, row, strict=True)) for one in batches for row in zip(*one.values(), strict=True)]
    return sorted(({name: strip(ids) for name, ids in row.items()} for row in rows), key=str)


def strip(ids: list[int]) -> list[int]:
    return ids[: max((n + 1 for n, id in enumerate(ids) if id), default=0)]


def asked(rows: list[dict[str, Any]]) -> list[list[int]]:
    return [row["labels"] for row in rows]


def test_each_differs_in_what_it_is_named_for() -> None:
    base, named = Sibling(), {name: one.way for name, one in SIBLINGS.items()}
    assert (base.recipe, base.way) == (RECIPES["bert-mini"], Way())
    assert Way().single == 0.75, "three of four pairs, as the card of bert-mini tells"
    assert [one.seed for one in SIBLINGS.values()] == [2, 3, *[1] * 9]
    assert named["bert-2"] == named["bert-3"] == Way()
    four = [way for name, way in named.items() if name.startswith("roberta")]
    assert {(way.in_pairs, way.new_blanks) for way in four} == {(a, b) for a in (False, True) for b in (False, True)}
    assert {(way.new_rows, way.one_of) for way in four} == {(False, 24)}
    assert dataclasses.replace(named["distilled"], is_taught=False) == named["untaught"]
    assert dataclasses.replace(named["albert-mini"], parts={}) == Way()
    on = [SIBLINGS[name] for name in ("bert-longer", "electra-mini")]
    assert dataclasses.replace(on[1], way=on[0].way) == on[0]
    assert dataclasses.replace(on[1].way, parts={}) == on[0].way == Way(in_pairs=False, teacher=TEACHER)
    assert named["electra-mini"].parts == {"family": "discriminator"}


@pytest.mark.parametrize("name", sorted({*SIBLINGS} & {*model_names()}))
def test_those_of_the_app_were_trained_by_these_recipes(name: str) -> None:
    training = json.loads((MODELS / name / "metrics.json").read_text())["training"]
    assert training["recipe"] == json.loads(json.dumps(dataclasses.asdict(SIBLINGS[name].recipe)))
    assert training["seed"] == SIBLINGS[name].seed


def test_the_same_blanks_come_again_or_new_ones_on_the_same_rows(files: tuple[Path, Path]) -> None:
    still, moving = (reading(files, Way(new_rows=False, new_blanks=new)) for new in (False, True))
    assert epoch(still, 0) == epoch(still, 1) == epoch(still, 7)
    first, second = epoch(moving, 0), epoch(moving, 1)
    assert asked(first) != asked(second)
    assert sorted(row["segment_ids"] for row in first) == sorted(row["segment_ids"] for row in second)
    plain = reading(files, Way())
    assert sorted(row["segment_ids"] for row in epoch(plain, 0)) != sorted(
        row["segment_ids"] for row in epoch(plain, 1)
    )


def test_texts_alone_have_one_segment_and_no_pair_to_tell(files: tuple[Path, Path]) -> None:
    batches = [*reading(files, Way(in_pairs=False)).loader(0, 1)]
    assert all((batch["pair_labels"] == NO_PAIR).all() and not batch["segment_ids"].any() for batch in batches)
    assert sum(len(batch["labels"]) for batch in batches) >= 20


def test_a_part_of_the_documents(files: tuple[Path, Path]) -> None:
    whole, part = reading(files, Way()), reading(files, Way(one_of=3))
    assert len(whole.documents) == 20
    assert [one.ids.tolist() for one in part.documents] == [one.ids.tolist() for one in whole.documents[::3]]
    assert len(part.valid_documents) == len(whole.valid_documents)


def test_the_divergence_by_hand() -> None:
    """Two tokens of three entries; the second is guessed alike. With T = 2 the logits are halved, the result × 4."""
    logits = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    theirs = torch.tensor([[2 * math.log(2.0), 0.0, 0.0], [1.0, 2.0, 3.0]])  # 1/2, 1/4, 1/4 once halved
    kl = 0.5 * math.log(0.5 * 3) + 2 * 0.25 * math.log(0.25 * 3)
    assert divergence(logits, theirs).item() == pytest.approx(4 * kl / 2)
    assert divergence(logits[1:], theirs[1:]).item() == pytest.approx(0, abs=1e-6)


def test_layers_are_taken_evenly() -> None:
    teacher = torch.nn.ModuleDict({"encoder": torch.nn.ModuleDict()})
    teacher["encoder"]["layers"] = torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(4))  # type: ignore[index]
    teacher["head"] = torch.nn.Linear(1, 1)
    weights = teacher.state_dict()
    found = layers_of(teacher, 2)
    assert {name: float(one.flatten()[0]) for name, one in found.items()} == {
        name: float(weights[source].flatten()[0])
        for name, source in {
            **{f"encoder.layers.{n}.{part}": f"encoder.layers.{2 * n}.{part}" for n in (0, 1)
               for part in ("weight", "bias")},
            "head.weight": "head.weight", "head.bias": "head.bias",
        }.items()
    }  # fmt: skip


def call(monkeypatch: pytest.MonkeyPatch, files: tuple[Path, Path], *only: str) -> int:
    arguments = ["--data", files[0], "--valid", files[1], "--out", files[0].parent, "--only", *only]
    monkeypatch.setattr(sys, "argv", ["descendants", *map(str, arguments)])
    return descendants.main()


def test_the_command_trains_a_teacher_a_student_and_an_albert(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = files[0].parent
    monkeypatch.setattr(descendants, "BASE", dataclasses.replace(RECIPE, steps=3))
    way = Way({"n_layers": 1}, in_pairs=False, teacher=root / "bert-2", is_taught=True)
    ways = {
        "bert-2": Sibling(seed=2, steps=3),
        "distilled": Sibling(way, steps=2),
        "albert-mini": Sibling(Way({"d_embedding": 8, "shares_layers": True}), steps=2),
    }
    for name, one in ways.items():
        monkeypatch.setitem(SIBLINGS, name, one)
    assert call(monkeypatch, files, *ways) == 0
    figures = {name: json.loads((root / name / "training.json").read_text()) for name in ways}
    assert [(one["name"], one["steps"], one["seed"]) for one in figures.values()] == [
        ("bert-2", 3, 2), ("distilled", 2, 1), ("albert-mini", 2, 1),
    ]  # fmt: skip
    config = json.loads((root / "albert-mini" / "config.json").read_text())
    assert (config["d_embedding"], config["shares_layers"], config["d_model"]) == (8, True, SIZES["d_model"])
    capsys.readouterr()
    assert call(monkeypatch, files, *ways) == 0
    assert capsys.readouterr().out.count("is finished") == 3


def test_a_student_begins_as_its_teacher_and_a_taught_one_copies_its_guesses(files: tuple[Path, Path]) -> None:
    root = files[0].parent
    plain = reading(files, Way())
    plain.material = dataclasses.replace(plain.material, name="teacher")  # type: ignore[type-var]
    (root / "teacher").mkdir()
    torch.manual_seed(4)
    plain.save(plain.new_model().state_dict())
    ways = [Way({"n_layers": 1}, teacher=root / "teacher", is_taught=taught) for taught in (True, False)]
    taught, untaught = (reading(files, way) for way in ways)
    student = taught.new_model()
    assert taught.teacher is not None
    theirs = taught.teacher.state_dict()
    assert all(torch.equal(weight, theirs[name]) for name, weight in student.state_dict().items())
    batch = next(iter(taught.loader(0, 1)))
    of_tokens, of_pairs, logits = taught.guesses(student, batch)
    rows = batch["labels"] != 0
    expected = divergence(logits, taught.teacher(batch["src_ids"], batch["segment_ids"], rows)[0])
    assert expected > 0
    assert taught.loss(student, batch).item() == pytest.approx(
        (OF_TEACHER * expected + OF_TEXT * of_tokens + of_pairs).item(), rel=1e-5
    )
    assert untaught.loss(student, batch).item() == pytest.approx((of_tokens + of_pairs).item(), rel=1e-5)


def test_a_missing_teacher_is_told_and_the_next_is_trained(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    way = Way({"n_layers": 1}, teacher=files[0].parent / "nobody", is_taught=True)
    monkeypatch.setattr(descendants, "BASE", dataclasses.replace(RECIPE, steps=1))
    monkeypatch.setitem(SIBLINGS, "distilled", Sibling(way, steps=1))
    monkeypatch.setitem(SIBLINGS, "bert-2", Sibling(seed=2, steps=1))
    assert call(monkeypatch, files, "distilled", "bert-2") == 1
    assert capsys.readouterr().err.startswith("distilled: ")
    assert (files[0].parent / "bert-2" / "training.json").exists()
