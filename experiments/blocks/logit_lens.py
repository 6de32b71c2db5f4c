"""What a model would write if it stopped earlier: every layer's result through the output, as if it were the last's."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.passes import Ids, forward, read_out
from figures.statistics import softmax
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import SOS_ID
from model.trace import Trace

LIKELIEST = 10  # entries of a position that are kept


@dataclass(frozen=True)
class Lens:
    """What the model would write after the decoder's embedding, or after one of its N layers.

    ids, probabilities: the likeliest entries at each of T positions and what they get (N + 1, T, LIKELIEST)
    written:            the probability of what is really written there (N + 1, T)
    """

    ids: NDArray[np.integer]
    probabilities: NDArray[np.floating]
    written: NDArray[np.floating]


def logit_lens(loaded: LoadedModel, src: Ids, labels: Ids) -> Lens:
    """The logit lens on a translation, read by teacher forcing.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens"
    """
    tensors, decoder = forward(loaded, src, (SOS_ID, *labels[:-1])), loaded.anatomy.stack("decoder")
    ids, probabilities, written = [], [], []
    for name in (decoder.embedding_writes, *(layer.writes for layer in decoder.layers)):
        shares = softmax(read_out(loaded, tensors[name]))
        some = np.argpartition(-shares, LIKELIEST, axis=-1)[:, :LIKELIEST]  # the likeliest, in any order
        order = np.argsort(-np.take_along_axis(shares, some, axis=-1), axis=-1)
        ids.append(np.take_along_axis(some, order, axis=-1))
        probabilities.append(np.take_along_axis(shares, ids[-1], axis=-1))
        written.append(shares[np.arange(len(labels)), list(labels)])
    return Lens(np.stack(ids), np.stack(probabilities), np.stack(written))


def said_after_each(read: Trace, row: int) -> NDArray[np.floating]:
    """The probability of every entry in a row, after each of the N layers of an encoder alone (N,V)."""
    layers = read.model.anatomy.stack("encoder").layers
    return softmax(read_out(read.model, np.stack([read.tensors[layer.writes][row] for layer in layers])))
