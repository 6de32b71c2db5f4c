"""Fine-tuning on a visitor's sentences: what can be learned from, what is reported, and the classifier that is left."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from explain import worked
from model.build import build_network
from model.files.device import Device
from model.files.loaded_model import LoadedModel
from tests.family import small
from training.live import labelling
from training.live.labelling import (
    HEAD,
    PRETRAINED,
    RANDOM,
    STEPS,
    LabelError,
    Labelling,
    classified,
    classifier,
    contradictions,
    parsed,
)
from ui.engine import numbers

CAT, DOG = "The cat sat on the mat.", "A dog sees the cat."


@pytest.fixture(params=["gpt-mini", "bert-mini"])
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    loaded = small(request.param)

    def load_model(name: str, device: Device) -> LoadedModel:
        return dataclasses.replace(loaded, model=copy.deepcopy(loaded.model))

    def load_untrained(folder: object) -> torch.nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return build_network(loaded.config).eval()

    monkeypatch.setattr(labelling, "load_model", load_model)
    monkeypatch.setattr(labelling, "load_untrained", load_untrained)
    return loaded


def test_lines_are_read_with_their_labels_and_each_once() -> None:
    """However a keyboard or a word processor writes a minus: as a hyphen, a minus sign or an en dash."""
    written = f"+ {CAT}\n\n -   {DOG}\n+{CAT}\n− It  rains.\n– It snows."
    assert parsed(written) == ((CAT, "+"), (DOG, "-"), ("It rains.", "-"), ("It snows.", "-"))


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "There is nothing to learn yet: write a line with + and one with -."),
        (f"+ {CAT}\n+ {DOG}", "All sentences are labelled “+”: at least one must be “-”."),
        (f"- {CAT}", "All sentences are labelled “-”: at least one must be “+”."),
        (f"+ {CAT}\n{DOG}", f"“{DOG}” has no label: begin each line with + or -."),
        (f"+ {CAT}\n-", "A line has a - and no sentence: write one behind it."),
        ("x" * 99, f"“{'x' * 29}…” has no label: begin each line with + or -."),
        ("\n".join(f"+ {n}" for n in range(21)), "These are 21 sentences: write at most 20."),
    ],
)
def test_what_cannot_be_learned_from_is_told_in_one_sentence(written: str, says: str) -> None:
    with pytest.raises(LabelError) as error:
        parsed(written)
    assert str(error.value) == says


def test_contradictions_are_found() -> None:
    assert contradictions(parsed(f"+ {CAT}\n- {DOG}\n- {CAT}")) == (CAT,)


def test_both_models_learn_and_a_classifier_is_left(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelling, "LEARNING_RATE", 2e-3)
    task = Labelling(model.name, ((CAT, "+"), (DOG, "-")), ((CAT, "+"), (DOG, "+"), ("Tom has cats.", "-")))
    first, *_, last = task.reports(lambda step: False)
    assert (first.step, last.step) == (0, STEPS)
    for name in (PRETRAINED, RANDOM):
        assert last.runs[name].loss < first.runs[name].loss
        assert last.runs[name].test.n == 3
    assert set(first.moved.values()) == {0.0}
    assert min(last.moved.values()) > 0
    learned = classifier(model, last.weights)
    cat, dog = (classified(model, learned, text).tensors["probabilities"][0] for text in (CAT, DOG))
    assert cat[1] > 0.5 > dog[1]
    assert last.light().weights == {}


def test_the_head_alone_has_few_numbers_and_the_rest_stays(model: LoadedModel) -> None:
    *_, last = Labelling(model.name, ((CAT, "+"), (DOG, "-")), ((CAT, "+"),), HEAD).reports(lambda step: False)
    assert last.n_learning == 2 * model.config.d_model + 2
    assert set(last.moved.values()) == {0.0}
    assert len(last.weights) == 2


def test_what_the_head_does_is_worked_out_from_the_row_it_reads(model: LoadedModel) -> None:
    head = classifier(model, {})
    read = classified(model, head, CAT)
    weights, bias = (getattr(head.head, name).numpy() for name in ("weight", "bias"))
    assert np.allclose(read.tensors["logits"], read.tensors["row"] @ weights.T + bias, atol=1e-5)
    for index in ((0, 0), (0, 1)):
        assert worked(numbers(read), "logits", index).value == pytest.approx(read.tensors["logits"][index], abs=1e-4)
