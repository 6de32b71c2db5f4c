"""The small BERT, fine-tuned for a task: a file holds what the task changed, the model itself all else."""

import copy
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from model.adapting.fine_tuned import FineTunedReader
from model.families.encoder_only import EncoderOnly
from model.files.checkpoint import broken, save_weights
from model.files.loaded_model import MODELS

TASK_HEADS = MODELS / "tasks"  # a file for each task
OF_TOKENS = "of_tokens.weight"  # of a head that looks at every token
OF_TEXT = "network.next_sentence.classifier.weight"


def file_of(task: str, folder: Path = TASK_HEADS) -> Path:
    return folder / f"{task}.safetensors"


def learning_in(network: EncoderOnly, head: str, n_layers: int) -> tuple[str, ...]:
    """How the names of the weights begin that a task may change: those of the last layers and of the head; where the
    head reads a whole text, also those of the table of tokens, since single words tell much there.

    Args: head: of `model.adapting.fine_tuned.HEADS`; n_layers: how many of the last layers
    """
    every = len(network.encoder.layers)
    layers = [f"network.encoder.layers.{n}." for n in range(every - n_layers, every)]
    of_head = ("of_tokens.",) if head == "tokens" else ("network.embedding.matrix.", "network.next_sentence.")
    return (*layers, *of_head)


def save_task(file: Path, model: FineTunedReader) -> None:
    """Write the weights that may learn, rounded to fp16."""
    save_weights(file, {name: w for name, w in model.named_parameters() if w.requires_grad})


def load_task(network: EncoderOnly, file: Path) -> FineTunedReader:
    """A model with the weights in a file; all others are those of `network`, of which nothing is copied.

    Raises: CheckpointError, naming the file and the repair
    """
    shared = {id(weight): weight for weight in network.parameters()}
    own: EncoderOnly = copy.deepcopy(network, shared)  # the modules alone: each knows the weights it is given
    try:
        weights = {name: weight.float() for name, weight in load_file(file).items()}
        head = "tokens" if OF_TOKENS in weights else "text"
        n_classes = len(weights[OF_TOKENS if head == "tokens" else OF_TEXT])
        with torch.random.fork_rng(devices=[]):
            model = FineTunedReader(own, n_classes, head)
        unknown = model.load_state_dict(weights, strict=False, assign=True).unexpected_keys
        if unknown:
            raise ValueError(f"there is no weight named {unknown[0]}")
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise broken(file, error) from error
    return model.to(next(network.parameters()).device).eval().requires_grad_(False)
