"""Live trainings stay on the CPU, with their batches, whatever the models of the pages run on."""

import pytest
import torch

from model.files import loaded_model
from model.files.device import Device
from training.live.adapting import Adapting
from training.live.labelling import PRETRAINED, Labelling
from training.live.styles import FORMAL
from training.live.teaching import Teaching

LABELLED = ("The cat sat on the mat.", "+"), ("A dog sees the cat.", "-")


def test_its_numbers_are_on_the_cpu_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_model, "pick_device", lambda: Device(torch.device("meta"), ""))
    taught, adapted, labelled = (
        next(task.reports(lambda step: False))
        for task in (
            Teaching("translator", (("I ate an apple.", "Ich aß einen Apfel."),), ()),
            Adapting("translator", FORMAL),
            Labelling("bert-mini", LABELLED, LABELLED),
        )
    )
    assert min(taught.loss, adapted.loss, labelled.runs[PRETRAINED].loss) > 0
