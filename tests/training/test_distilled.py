"""The command: all stages on a tiny model, what is skipped, what a kill costs, and how far weights are moved."""

import dataclasses
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file

from experiments.training.training_cost import BatchSizes
from model.build import build_model
from model.config import PRESETS
from model.decoding.strategies import Greedy
from model.files import checkpoint
from model.files.loaded_model import LoadedModel, load_folder
from model.text.tokenizer import Tokenizer
from tests.training.conftest import PAIRS, Killed, killed_after, same_weights, write_pairs
from training import distilled as command
from training.distilled import LAST, STAGES, TRAININGS, WRITINGS, Project, extrapolate
from training.distilling import beam, packed_run, synthetic_pairs
from training.distilling.synthetic_pairs import MARK
from training.evaluate import evaluate, references
from training.loop import resumable_run
from training.loop.data import collate, read_pairs
from training.loop.loss import batch_loss
from training.loop.updates import DivergedError

LONGEST = 11  # pieces of what models write that have hardly learned anything


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny models, the teachers wider by two; a beam of two; nine lines a chunk; whatever is written is sensible."""
    monkeypatch.setitem(PRESETS, "base", dataclasses.replace(PRESETS["tiny"], d_model=4, d_ff=6))
    for name, one in TRAININGS.items():
        parts: Any = {"d_model": 6, "norm_place": "pre"} if one.parts else {}
        recipe = dataclasses.replace(one.recipe, batch_tokens=256, average_decay=0.5)
        monkeypatch.setitem(TRAININGS, name, dataclasses.replace(one, parts=parts, recipe=recipe))
    monkeypatch.setitem(WRITINGS, "forward", (WRITINGS["forward"][0], 2))
    monkeypatch.setattr(synthetic_pairs, "LINES_AT_ONCE", 9)
    monkeypatch.setattr(synthetic_pairs, "is_sensible", lambda source, written: True)
    monkeypatch.setattr(beam, "MAX_TOKENS", LONGEST)
    monkeypatch.setattr(command, "SHARES", (0.0, 0.5, 2.0))


@pytest.fixture
def project(data: Path, tmp_path: Path) -> Project:
    german, english = tmp_path / "mono.txt", tmp_path / "more.txt"
    german.write_text("Das ist gut.\nTom geht.\n", encoding="utf-8")
    english.write_text("Anna eats apples.\nThat is good.\n\nWhat’s this?\n", encoding="utf-8")
    valid = write_pairs(tmp_path / "valid.tsv", [("Tom eats.", "Tom isst."), ("Go!", "Geh!"), ("Go!", "Los!")])
    return Project([data], [german], [english], valid, tmp_path / "out", 4e-4)


def run(monkeypatch: pytest.MonkeyPatch, project: Project, *more: object) -> int:
    typed = [*project.real, "--german", *project.german, "--english", *project.english, "--valid", project.valid]
    typed += ["--out", project.out, "--steps-scale", project.steps_scale, *more]
    monkeypatch.setattr(sys, "argv", ["distilled", *map(str, typed)])
    return command.main()


@pytest.mark.slow  # trains
def test_all_stages_one_after_the_other(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    losses = itertools.count(1.0)  # the last weights are kept all the same
    monkeypatch.setattr(resumable_run, "validation_loss", lambda *_: next(losses))
    assert run(monkeypatch, project) == 0
    said = capsys.readouterr().out
    ends = [said.index(f"{stage} is finished: ") for stage in STAGES]
    assert ends == sorted(ends)
    figures = {stage: project.figures(stage) for stage in (*TRAININGS, LAST)}

    back, forward = (project.result(name).read_text(encoding="utf-8").splitlines() for name in WRITINGS)
    assert [line.partition("\t")[2] for line in back] == ["Das ist gut.", "Tom geht."]
    assert all(line.startswith(MARK) for line in back)
    english = [*dict.fromkeys(english for english, _ in PAIRS), "That is good.", "What's this?"]
    assert [line.partition("\t")[0] for line in forward] == english

    assert [name for name, one in figures.items() if one["reversed"]] == ["german-english"]
    also = {name: {of: one["every"] for of, one in figures[name]["also"].items()} for name in TRAININGS}
    assert also["teacher-1"] == also["teacher-2"] == {"back.tsv": 3}
    assert also["student-1"] == also["student-2"] == {"forward.tsv": 1, "back.tsv": 2}
    assert (also["german-english"], also["again"]) == ({}, {"forward.tsv": 1})
    assert [figures[name]["seed"] for name in TRAININGS] == [1, 1, 2, 1, 2, 3]
    assert [figures[name]["steps"] for name in TRAININGS] == [2, 3, 3, 4, 4, 3]
    assert all(figures[name]["kept_step"] == figures[name]["steps"] for name in TRAININGS)
    assert figures["teacher-2"]["parts"] == {"d_model": 6, "norm_place": "pre"}
    folders = (project.out / name for name in figures)
    vocabularies = {folder: (folder / checkpoint.TOKENIZER).read_bytes() for folder in (checkpoint.SHIPPED, *folders)}
    assert len({*vocabularies.values()}) == 1

    for name in ("teacher-1", LAST):
        scored = evaluate(load_folder(project.out / name), references(project.valid), Greedy(LONGEST))
        assert figures[name]["validation_bleu"] == pytest.approx(scored["bleu"], abs=0.01)
    last, again, started = figures[LAST], figures["again"], figures[figures["again"]["start"]]
    assert last["target_tokens"] == again["target_tokens"] + started["target_tokens"]
    assert BatchSizes(**last["batches"]).source == 2 * (3 + 4) * 256, "seven batches, each read twice"
    assert last["stages"]["teacher-1"]["validation_bleu"] == figures["teacher-1"]["validation_bleu"]

    monkeypatch.setattr(command, "WORK", {})
    assert run(monkeypatch, project) == 0, "nothing is left to do"


@pytest.mark.slow
def test_a_command_that_is_killed_and_started_again_ends_with_the_same_weights(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, project) == 0
    monkeypatch.setattr(resumable_run, "SAVE_SECONDS", 0.0)
    killed = dataclasses.replace(project, out=tmp_path / "killed")
    with monkeypatch.context() as patch:
        patch.setattr(packed_run, "r_drop_loss", killed_after(7, packed_run.r_drop_loss))  # in teacher-2
        with pytest.raises(Killed):
            run(monkeypatch, killed)
    assert not killed.is_finished("teacher-2")
    with monkeypatch.context() as patch:
        patch.setitem(synthetic_pairs.DIRECTIONS, "forward", killed_after(1, synthetic_pairs.pairs_forward))
        with pytest.raises(Killed):
            run(monkeypatch, killed)
    assert len(list((killed.out / "forward.tsv.parts").iterdir())) == 1
    assert run(monkeypatch, killed) == 0
    for stage in (*TRAININGS, LAST):
        assert same_weights(project.out / stage / checkpoint.WEIGHTS, killed.out / stage / checkpoint.WEIGHTS), stage


def test_a_stage_alone_asks_for_those_that_it_builds_on(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    worked = []
    monkeypatch.setattr(command, "WORK", dict.fromkeys(STAGES, lambda project, stage, console: worked.append(stage)))
    needs = {
        "back": "german-english", "teacher-2": "back", "forward": "teacher-1, teacher-2",
        "student-1": "forward, back", "again": "forward, student-1, student-2", LAST: "again",
    }  # fmt: skip
    for stage, missing in needs.items():
        assert run(monkeypatch, project, "--only", stage) == 1
        assert capsys.readouterr().err == f"{stage} builds on stages that are not finished: {missing}\n"
    assert worked == []


def test_a_model_is_finished_once_it_is_scored_and_the_better_student_goes_on(project: Project) -> None:
    for name, figures in (
        ("student-1", {"validation_bleu": 7.0}),
        ("student-2", {"validation_bleu": 5.0}),
        ("again", {}),
    ):
        (project.out / name).mkdir(parents=True)
        project.result(name).write_text(json.dumps(figures))
    assert project.is_finished("student-2")
    assert not project.is_finished("again")
    assert project.task("again").start == project.out / "student-1"


def test_a_stage_is_scored_on_its_own_sources(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"Tom eats.": "Tom isst.", "Go!": "Los!", "Tom isst.": "Tom eats.", "Geh!": "Go!", "Los!": "Go!"}
    monkeypatch.setattr(command, "translate_by_several", lambda models, lines, beams: [written[one] for one in lines])
    with project.valid.open("a", encoding="utf-8") as file:
        file.write("Tom eats bread and cake.\tTom isst Brot und Kuchen.\n")
    for reverse, line in ((False, "Tom eats bread and cake."), (True, "Tom isst Brot und Kuchen.")):
        written[line] = "Tom isst Brot und Kuchen." if not reverse else "Tom eats bread and cake."
        assert project.bleu([], reverse) == 100.0
        written[line] = "Tom isst Brot und Fisch."
        assert 0 < project.bleu([], reverse) < 100.0


def test_a_training_that_diverges_ends_in_a_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def diverging(*_: Any) -> None:
        raise DivergedError("step 2: the loss is nan")

    monkeypatch.setattr(command, "WORK", {"german-english": diverging})
    assert run(monkeypatch, project) == 1
    assert capsys.readouterr().err == "german-english: step 2: the loss is nan\n"


def test_weights_go_on_as_far_as_does_best(
    project: Project, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = []
    figures = {
        "start": "student-2",
        "batches": {"source": 2},
        command.BLEU_OF: 6.0,
        "pairs": 1,
        "hardware": "an abacus",
    }
    figures |= {"parts": {"d_ff": 3}, "also": {"forward.tsv": {"pairs": 4}}}
    figures |= dict.fromkeys(command.SUMMED, 1)
    for name in TRAININGS:
        torch.manual_seed(len(weights))
        config = dataclasses.replace(PRESETS["base"], vocab_size=tokenizer.vocab_size)
        checkpoint.save(project.out / name, config, tokenizer, build_model(config).state_dict())
        also = {"back.tsv": {"pairs": 5}} if name == "student-2" else {}
        project.result(name).write_text(json.dumps({**figures, "also": figures["also"] | also}))
        weights.append(load_file(project.out / name / checkpoint.WEIGHTS))
    begin, end = weights[-2:]
    expected = {
        share: {name: (end[name].float() + share * (end[name].float() - begin[name].float())).half() for name in end}
        for share in (0.0, 0.5, 2.0)
    }
    asked = []

    def bleu(self: Project, models: Sequence[LoadedModel], reverse: bool = False) -> float:
        (share,) = (
            share for share, moved in expected.items()
            if all(torch.equal(w, moved[name].float()) for name, w in models[0].model.state_dict().items())
        )  # fmt: skip
        asked.append(share)
        return {0.0: 6.0, 0.5: 7.0, 2.0: 5.0}[share]

    monkeypatch.setattr(Project, "bleu", bleu)
    extrapolate(project, LAST, Console(quiet=True))
    assert asked == [0.0, 0.5, 2.0]
    kept = load_file(project.out / LAST / checkpoint.WEIGHTS)
    assert all(torch.equal(w, expected[0.5][name]) for name, w in kept.items())
    told = project.figures(LAST)
    assert told["moved_on"] == {"share": 0.5, "bleu": {"0.0": 6.0, "0.5": 7.0, "2.0": 5.0}}
    assert (told["validation_bleu"], told["steps"], told["batches"]) == (7.0, 2, {"source": 4})
    assert {file: one["pairs"] for file, one in told["also"].items()} == {"forward.tsv": 4, "back.tsv": 5}
    # What the page "Results" counts of the teachers.
    assert told["teachers"] == ["german-english", "teacher-1", "teacher-2"]
    assert all((one["parts"], one["batches"]) == ({"d_ff": 3}, {"source": 2}) for one in told["stages"].values())
    model = load_folder(project.out / LAST).model
    batch = collate([(tokenizer.encode(e), tokenizer.encode(g)) for e, g in read_pairs([project.valid])])
    assert told["validation_loss"] == pytest.approx(batch_loss(model, batch, 0.0).item(), abs=1e-3)
