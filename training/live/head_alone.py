"""A head alone learns a few labels: the model below it is frozen, so each sentence is read once, and all is at once."""

import numpy as np
import torch

from model.families.decoder_only import DecoderOnly
from model.files.checkpoint import load_untrained
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.kept import kept
from training.live.labelling import example

STEPS, RATE = 20, 0.02


@kept
def untrained(name: str) -> DecoderOnly:
    """The GPT of this name with random weights. Raises: CheckpointError"""
    network = load_untrained(MODELS / name)
    assert isinstance(network, DecoderOnly)
    return network


@torch.inference_mode()
def rows_read(loaded: LoadedModel, texts: tuple[str, ...], random: bool) -> Array:
    """What a head reads of each text: a GPT's row (N,d_model) of the end mark. random: with random weights"""
    network = untrained(loaded.name) if random else loaded.model
    assert isinstance(network, DecoderOnly)
    device = next(network.parameters()).device
    ids = (torch.tensor([example(loaded.tokenizer, network, text).ids], device=device) for text in texts)
    return np.concatenate([network.rows(one)[0, -1:].cpu().double().numpy() for one in ids])


def head_steps(rows: Array, labels: Array, others: Array) -> Array:
    """A head with one score learns labels by gradient descent, all at each step, from zeros.

    From the rows their mean over those labelled is first taken away, and they are divided by their mean deviation.

    Args:    rows (N,d), labels (N) of 0 and 1; others (M,d)
    Returns: the probability of label 1 that it gives the others, before the first step and after each (STEPS+1,M)
    """
    mean, deviation = rows.mean(0), rows.std(0).mean() + 1e-6
    own, new = (rows - mean) / deviation, (others - mean) / deviation
    weights, bias, chances = np.zeros(rows.shape[1]), 0.0, []
    for _ in range(STEPS + 1):
        chances.append(sigmoid(new @ weights + bias))
        wrong = sigmoid(own @ weights + bias) - labels
        weights, bias = weights - RATE * (wrong @ own) / len(own), bias - RATE * wrong.mean()
    return np.stack(chances)


def sigmoid(scores: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(scores / 2))
