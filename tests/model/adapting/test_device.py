"""What is added to a model lies on the model's device. In place of a GPU stands torch's device without numbers."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from experiments.attention.patterns import PATTERNS
from model.adapting import adapters
from model.adapting.row_tasks import ROWS, load_row_task
from model.files.device import Device
from model.files.loaded_model import MODELS, load_model
from model.parts.task_heads import load_task

META = torch.device("meta")
pytestmark = pytest.mark.filterwarnings("ignore:for .* copying from a non-meta parameter")
FILES = [one for folder in ("tasks", "rows", "adapters") for one in sorted((MODELS / folder).glob("*.safetensors"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_all_weights_are_on_one_device(file: Path) -> None:
    if file.parent.name == "adapters":
        network: nn.Module = adapters.with_adapter(load_model(device=Device(META, "")), file).model
    elif file.parent == ROWS:
        network = load_row_task(load_model("gpt-mini").model.to(META), file)  # type: ignore[arg-type]
    else:
        network = load_task(load_model("bert-mini").model.to(META), file)  # type: ignore[arg-type]
    assert {weight.device for weight in network.parameters()} == {META}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_on_the_device_of_its_scores(pattern: str) -> None:
    kept: Tensor = PATTERNS[pattern](torch.zeros(2, 4, 4, device=META), 2)
    assert kept.device == META
