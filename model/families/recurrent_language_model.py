"""A recurrent language model: what wrote texts before the Transformer (Mikolov et al. 2010)."""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.parts.fp16_matmul import times_transposed
from model.parts.recurrent import LSTMCell, Recurrent
from model.tap import Tap, no_tap, under


@dataclass(frozen=True)
class RecurrentConfig:
    """Sizes of an LSTM language model. With these it has as many parameters as gpt-mini, within a hundredth."""

    vocab_size: int = 8000
    d_model: int = 256
    d_hidden: int = 464
    n_layers: int = 2
    max_len: int = 128  # the longest row that training takes; the model itself has no limit
    dropout: float = 0.0


class RecurrentLanguageModel(nn.Module):
    """Token ids in, one score for every vocabulary entry out; each row knows what came before by the state alone.

    Args:    tgt_ids (B,T) integer, beginning with <sos>
    Returns: logits (B,T,vocab_size); row t scores the token that follows tgt_ids[:, t]
    Taps:    tokens (B,T,d_model); layers.N.steps.t.*; output (B,T,d_model); logits (B,T,vocab_size)
    Source:  Sundermeyer et al. 2012. Differs: the output shares the embedding matrix (Press and Wolf 2017), so the last
             state is first brought to its width
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        widths = [config.d_model, *[config.d_hidden] * config.n_layers]
        self.matrix = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(Recurrent(LSTMCell(d_in, d_out)) for d_in, d_out in itertools.pairwise(widths))
        self.dropout = nn.Dropout(config.dropout)
        self.w_out = nn.Linear(config.d_hidden, config.d_model, bias=False)
        nn.init.normal_(self.matrix.weight, std=config.d_model**-0.5)

    @property
    def d_model(self) -> int:
        return self.matrix.embedding_dim

    def rows(self, tgt_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        """What is compared with every embedding (B,T,d_model)."""
        x = self.dropout(tap("tokens", self.matrix(tgt_ids)))
        for n, layer in enumerate(self.layers):
            assert isinstance(layer, Recurrent)
            read = layer(x, under(f"layers.{n}", tap)) if tap is not no_tap else at_once(layer, x)
            x = self.dropout(read)
        return tap("output", self.w_out(x))

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,T,vocab_size): x (B,T,d_model) times the transposed embedding matrix."""
        return tap("logits", times_transposed(x, self.matrix.weight))

    def forward(self, tgt_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        return self.output(self.rows(tgt_ids, tap), tap)


def at_once(layer: Recurrent, x: Tensor) -> Tensor:
    """What an LSTM layer makes of x (B,T,d_in), by torch's own loop over the steps with the layer's weights.

    Returns: (B,T,d_hidden)
    """
    cell = layer.cell
    zeros = x.new_zeros(1, x.size(0), cell.u.in_features)
    weights = [cell.w.weight, cell.u.weight, cell.w.bias, torch.zeros_like(cell.w.bias)]  # torch has two biases
    learns = torch.is_grad_enabled()  # on a GPU only a pass that is told so has gradients
    hidden, *_ = torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, learns, False, True)
    return hidden
