"""A small translator with every part, against the same weights in the oracle's NumPy."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import torch

from model.build import build_model
from model.config import CHOICES, PRESETS, ModelConfig
from model.tap import Recorder
from tests.oracle.shown.siblings import Sibling

PLAIN = replace(PRESETS["sibling"], vocab_size=211, block=4, n_squeezed=2)
ONE_PART = [(part, kind) for part, kinds in CHOICES.items() for kind in kinds[part != "positions" :]]  # plain once
SRC, LABELS = [17, 5, 190, 44, 91, 2], [101, 33, 7, 160, 88, 12, 2]


def compare(config: ModelConfig) -> None:
    torch.manual_seed(3)
    model = build_model(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # γ and β at 1 and 0 could stand for each other unseen
            torch.nn.init.normal_(parameter, mean=1.0 if name.endswith("weight") else 0.0, std=0.3)
        elif ".positions." in name:
            torch.nn.init.normal_(parameter)
    w = {name: one.double().numpy() for name, one in model.double().state_dict().items()}
    recorder = Recorder()
    with torch.inference_mode():
        model(torch.tensor([SRC]), torch.tensor([[1, *LABELS[:-1]]]), recorder)
    oracle = Sibling(dataclasses.asdict(config), w, SRC, LABELS)
    known = {name: value for name, value in oracle.tensors.items() if name in recorder.tensors}
    assert len(known) > 50
    for name, value in known.items():
        recorded = recorder.tensors[name].reshape(value.shape)  # without the batch, where there is one
        assert np.allclose(recorded, value, atol=1e-5), name


@pytest.mark.parametrize(("part", "kind"), ONE_PART)
def test_one_part_of_every_kind(part: str, kind: str) -> None:
    compare(replace(PLAIN, reach=2, **{part: kind}))


def test_several_parts_at_once() -> None:
    compare(replace(PLAIN, positions="relative", norm="rms", norm_place="sandwich", activation="geglu"))
    compare(replace(PLAIN, positions="alibi", norm="rms", norm_place="deep", activation="swiglu"))
