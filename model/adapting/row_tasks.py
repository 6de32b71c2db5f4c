"""The small GPT, fine-tuned by LoRA for tasks whose texts stand in one row: a file holds what a task added."""

from pathlib import Path

import torch
from torch import nn

from model.adapting.fine_tuned import FineTunedWriter
from model.adapting.lora import ALPHA, learning, with_low_rank
from model.families.decoder_only import DecoderOnly
from model.files.checkpoint import broken, load_weights, save_weights
from model.files.loaded_model import MODELS

ROWS = MODELS / "rows"  # a file for each task
RANK = 8


def file_of(task: str, folder: Path = ROWS) -> Path:
    return folder / f"{task}.safetensors"


def with_task(network: DecoderOnly, n_classes: int) -> FineTunedWriter:
    """A frozen GPT with a new head, and low-rank matrices beside all of its own; these and the head alone learn."""
    names = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        writer = FineTunedWriter(with_low_rank(network, names, RANK, ALPHA), n_classes)
    writer.classifier.to(next(network.parameters()).device)
    return writer


def save_row_task(file: Path, model: FineTunedWriter) -> None:
    """Write the weights that learn, rounded to fp16."""
    save_weights(file, dict(learning(model)))


def load_row_task(network: DecoderOnly, file: Path) -> FineTunedWriter:
    """A GPT with what a task added; all other weights are those of `network`, of which nothing is copied.

    Raises: CheckpointError, naming the file and the repair
    """
    weights = load_weights(file)
    try:
        model = with_task(network, len(weights["classifier.bias"]))
        if {*weights} != {*learning(model)}:
            raise ValueError("its weights are not those of a task")
        model.load_state_dict(weights, strict=False)
    except (KeyError, ValueError, RuntimeError) as error:
        raise broken(file, error) from error
    return model.eval().requires_grad_(False)
