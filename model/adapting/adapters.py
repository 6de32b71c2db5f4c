"""What a translator learned by LoRA and comes with the app: a file for each style, with A and B beside its matrices."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from model.adapting.lora import ALPHA, with_low_rank
from model.files.checkpoint import broken, load_weights
from model.files.loaded_model import MODELS, LoadedModel
from model.kept import kept

ADAPTERS = MODELS / "adapters"
DOWN, UP = ".down.weight", ".up.weight"  # how the names of A (r,k) and B (d,r) end


def file_of(style: str, folder: Path = ADAPTERS) -> Path:
    """The file of a style, whose name is the first word of the style's."""
    return folder / f"{style.partition(':')[0]}.safetensors"


@kept
def load_adapter(file: Path) -> dict[str, Tensor]:
    """A and B by name, like "encoder.layers.0.self_attn.w_q.down.weight", in fp32.

    Raises: CheckpointError, naming the file and the repair
    """
    return load_weights(file)


def with_adapter(loaded: LoadedModel, file: Path, share: float = 1.0) -> LoadedModel:
    """The model with a share of what an adapter adds to its matrices; all its own weights are shared with it.

    Raises: CheckpointError, naming the file and the repair
    """
    weights = load_adapter(file)
    names = [name.removesuffix(DOWN) for name in weights if name.endswith(DOWN)]
    try:
        network = with_low_rank(loaded.model, names, len(weights[names[0] + DOWN]), share * ALPHA)
        with torch.no_grad():
            for name, value in weights.items():
                network.get_parameter(name).copy_(value)
    except (AttributeError, IndexError, KeyError, RuntimeError) as error:
        raise broken(file, error) from error
    return replace(loaded, name=f"{loaded.name}, {share:g} of {file.stem}", model=network.eval().requires_grad_(False))
