"""What chance alone does: two models that were trained as bert-mini was, but from other random numbers."""

from experiments.family.language_models import published
from model.files.checkpoint import broken
from model.files.loaded_model import MODELS

BASE, FILE = "bert-mini", "seeds.json"  # in its folder, written by training.measure.seeds


def trained_again(measured: str) -> tuple[float, float]:
    """A figure of both, from 0 to 1: `accuracy` of masked tokens, or `single_sentences`, the area under the ROC curve.

    Raises: CheckpointError, naming the file and the repair
    """
    try:
        _, first, second = (float(one[measured]) for one in published(BASE, FILE)["models"])
    except (ValueError, KeyError, TypeError) as error:
        raise broken(MODELS / BASE / FILE, error) from error
    return first, second
