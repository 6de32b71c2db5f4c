"""Recurrent networks: they read one position after the other, and carry a state along. What there was before attention.

A cell computes one step. Its state is a tuple of tensors (B,d_hidden); the first of them is the hidden state, which the
next layer reads.
"""

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.tap import Tap, no_tap, under

State = tuple[Tensor, ...]


class RNNCell(nn.Module):
    """One step of a simple recurrent network: h_t = tanh(Wx_t + Uh_{t−1} + b).

    Args:    x (B,d_in), one position; state: (hidden,), of the position before, (B,d_hidden)
    Returns: (hidden,)
    Taps:    pre_activation, hidden (B,d_hidden)
    Source:  Elman 1990. Differs: tanh, as in torch.nn.RNN, where Elman's units were logistic
    """

    N_STATES = 1

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__()
        self.w = nn.Linear(d_in, d_hidden)  # W and b
        self.u = nn.Linear(d_hidden, d_hidden, bias=False)

    def forward(self, x: Tensor, state: State, tap: Tap = no_tap) -> State:
        (hidden,) = state
        pre_activation = tap("pre_activation", self.w(x) + self.u(hidden))
        return (tap("hidden", pre_activation.tanh()),)


class LSTMCell(nn.Module):
    """One step of a long short-term memory: three gates between 0 and 1 decide what its cell keeps, takes in and shows.

    i_t, f_t, o_t = σ(W_{i,f,o} x_t + U_{i,f,o} h_{t−1} + b_{i,f,o});  g_t = tanh(W_g x_t + U_g h_{t−1} + b_g)
    c_t = f_t ⊙ c_{t−1} + i_t ⊙ g_t;  h_t = o_t ⊙ tanh(c_t)

    Args:    x (B,d_in), one position; state: (hidden, cell), of the position before, both (B,d_hidden)
    Returns: (hidden, cell)
    Taps:    pre_activation (B,4·d_hidden); input_gate (i), forget_gate (f), candidate (g), output_gate (o), cell (c),
             hidden (h) (B,d_hidden)
    Source:  Hochreiter and Schmidhuber 1997; the forget gate from Gers et al. 2000. Differs: no peephole connections,
             as in torch.nn.LSTM; the four matrices W stand one above the other in one, those of i, f, g, o in this
             order, and so do the four U; the forget gate's bias starts at 1 (Jozefowicz et al. 2015), so that an
             untrained cell forgets slowly
    """

    N_STATES = 2

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__()
        self.w = nn.Linear(d_in, 4 * d_hidden)  # W and b
        self.u = nn.Linear(d_hidden, 4 * d_hidden, bias=False)
        nn.init.ones_(self.w.bias.data[d_hidden : 2 * d_hidden])

    def forward(self, x: Tensor, state: State, tap: Tap = no_tap) -> State:
        hidden, cell = state
        pre_activation = tap("pre_activation", self.w(x) + self.u(hidden))  # (B,4·d_hidden)
        i, f, g, o = pre_activation.chunk(4, dim=-1)
        input_gate = tap("input_gate", i.sigmoid())
        forget_gate = tap("forget_gate", f.sigmoid())
        candidate = tap("candidate", g.tanh())
        output_gate = tap("output_gate", o.sigmoid())
        cell = tap("cell", forget_gate * cell + input_gate * candidate)
        return tap("hidden", output_gate * cell.tanh()), cell


class Recurrent(nn.Module):
    """A layer that reads a sequence with one cell, step by step: step t cannot begin before step t−1 has ended.

    Args:    x (B,T,d_in)
    Returns: (B,T,d_hidden): the hidden state after each position; the first step starts from a state of zeros
    Taps:    steps.t.* of the cell, for t = 0 … T−1
    """

    def __init__(self, cell: RNNCell | LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        zeros = x.new_zeros(x.size(0), self.cell.u.in_features)
        state: State = (zeros,) * self.cell.N_STATES
        hidden = []
        for t, x_t in enumerate(x.unbind(1)):
            state = self.cell(x_t, state, under(f"steps.{t}", tap))
            hidden.append(state[0])
        return torch.stack(hidden, dim=1)


def compiled(layer: Recurrent) -> nn.RNN | nn.LSTM:
    """torch's own layer with the same weights; its loop over steps is compiled.

    Returns: a layer from x (B,T,d_in) to hidden (B,T,d_hidden) and the last state
    """
    cell = layer.cell
    kind = nn.RNN if isinstance(cell, RNNCell) else nn.LSTM
    theirs = kind(cell.w.in_features, cell.u.in_features, batch_first=True)
    # torch keeps two biases, of which one is enough.
    weights = (cell.w.weight, cell.u.weight, cell.w.bias, torch.zeros_like(cell.w.bias))
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    theirs.load_state_dict(dict(zip(names, weights, strict=True)))
    return theirs


@describe.register
def _(module: RNNCell, scribe: Scribe, x: str) -> str:
    return scribe.made("hidden", "tanh", describe_recurrence(scribe, x))


@describe.register
def _(module: LSTMCell, scribe: Scribe, x: str) -> str:
    before = describe_recurrence(scribe, x)
    forget_gate = scribe.made("forget_gate", "sigmoid_of_block", before)
    input_gate = scribe.made("input_gate", "sigmoid_of_block", before)
    candidate = scribe.made("candidate", "tanh_of_block", before)
    output_gate = scribe.made("output_gate", "sigmoid_of_block", before)
    cell = scribe.made("cell", "keep_and_take_in", forget_gate, input_gate, candidate)
    return scribe.made("hidden", "show", output_gate, cell)


@describe.register  # the values of all steps, one above the other; a step's own names have "steps.t." in them
def _(module: Recurrent, scribe: Scribe, x: str) -> str:
    return describe(module.cell, scribe.of_part("cell", ""), x)


def describe_recurrence(scribe: Scribe, x: str) -> str:
    weights = ("w.weight", "w.bias", "u.weight")
    return scribe.made("pre_activation", "recur", x, scribe.name("hidden"), weights=weights)
