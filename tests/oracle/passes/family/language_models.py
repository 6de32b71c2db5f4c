"""The small GPT and the LSTM beside it, in NumPy and float64 from their files, after the papers alone."""

import functools
from collections.abc import Sequence

import numpy as np

from tests.oracle.language.page import Page
from tests.oracle.passes.decode import Ids
from tests.oracle.passes.family.bert import GPT as NAME
from tests.oracle.passes.family.bert import NAMES, entry, gpt, tokenizer
from tests.oracle.passes.forward import EOS, MAX_PIECES, PAD, SOS, Array, tidied
from tests.oracle.passes.network import Network
from tests.oracle.passes.shipped import config, weights

LONGER = 20  # pieces that it writes at most
RECORDS = ("tokens", "positions", "output", "weights", "normed", "logits", "losses")


def most_pieces() -> int:
    """Of a text: one place is left for `<eos>`."""
    return min(MAX_PIECES, config(NAME)["max_len"] - 1)


def text_of(ids: Sequence[int]) -> str:
    return str(tokenizer().decode([id for id in ids if id >= len(NAMES)]))


class Text:
    """The text of a page as the GPT reads it. ids: of its pieces; n_cut: how many more there were"""

    def __init__(self, page: Page) -> None:
        every = tokenizer().encode(tidied(page.text), add_special_tokens=False).ids
        self.ids = tuple(every[: most_pieces()])
        self.n_cut = len(every) - len(self.ids)
        self.text = text_of(self.ids) if self.n_cut else page.text
        self.names = [entry(id) for id in self.ids]


@functools.lru_cache(16)
def text_on(sentence: str) -> Text:
    return Text(Page("gpt", {"sentence": sentence}))


def log_shares(logits: Array) -> Array:
    """Log-probabilities of every entry in every row."""
    shifted = logits - logits.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


class Gpt(Network):
    """One pass over a text (Radford et al. 2018, Equation 2; norms before the sub-layers, as in GPT-2).

    labels: what each row is to guess; tensors: also logits, losses (T,1)
    """

    def __init__(self, labels: Sequence[int], name: str = NAME) -> None:
        super().__init__(config(name), weights(name), records=RECORDS)
        self.labels = list(labels)
        self.logits = self.keep("logits", self.decoder([SOS, *self.labels[:-1]]))
        self.log_shares = log_shares(self.logits)
        self.keep("losses", -self.log_shares[np.arange(len(self.labels)), self.labels][:, None])

    @property
    def chances(self) -> Array:
        """The probability of each label (T)."""
        return np.exp(-self["losses"][:, 0])


@functools.lru_cache(16)
def reading(ids: Ids) -> Gpt:
    """The text with `<eos>` behind it."""
    return Gpt([*ids, EOS])


@functools.lru_cache(1024)
def next_scores(ids: Ids) -> Array:
    """Log-probabilities (V) of the piece after some; `<pad>` and `<sos>` are never written."""
    scores = log_shares(gpt().next_logits([SOS, *ids]))
    scores[[PAD, SOS]] = -np.inf
    return scores


@functools.lru_cache(16)
def lstm_losses(ids: Ids) -> Array:
    """−ln P of each piece (T), in nats: two layers of Hochreiter and Schmidhuber's cell with a forget gate."""
    w = weights("lstm")
    x = w["matrix.weight"][[SOS, *ids[:-1]]]
    for n in range(config("lstm")["n_layers"]):
        inward, bias, u = (w[f"layers.{n}.cell.{name}"] for name in ("w.weight", "w.bias", "u.weight"))
        hidden = cell = np.zeros(u.shape[1])
        rows = []
        for row in x:
            i, f, g, o = np.split(inward @ row + u @ hidden + bias, 4)
            cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
            hidden = np.tanh(cell) / (1 + np.exp(-o))
            rows.append(hidden)
        x = np.array(rows)
    logits = x @ w["w_out.weight"].T @ w["matrix.weight"].T
    return np.asarray(-log_shares(logits)[np.arange(len(ids)), list(ids)])
