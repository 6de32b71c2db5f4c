"""State-space layers: a small state that every position moves on. In one all positions move it alike, in the other each
chooses how far.

Axes: D channels of the input, each with a state of its own of N numbers.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import silu, softplus

from model.anatomy.describe import Scribe, describe
from model.parts.base_module import Part
from model.tap import Tap, no_tap, under

STEPS = (1e-3, 1e-1)  # between these Δ is drawn before training (Gu and Dao 2023, §3.6)


def recurrence(decay: Tensor, gained: Tensor, state: Tensor | None = None) -> Tensor:
    """h_t = decay_t · h_{t−1} + gained_t, number by number.

    Args:    decay (B,T,D,N), or (D,N) if it is the same at every position; gained (B,T,D,N)
             state (B,D,N): what was there before the first position, by default 0
    Returns: the states h (B,T,D,N)
    """
    states = []
    for kept, new in zip(decay.expand_as(gained).unbind(1), gained.unbind(1), strict=True):
        state = new if state is None else kept * state + new
        states.append(state)
    return torch.stack(states, 1)


def convolution(x: Tensor, kernel: Tensor) -> Tensor:
    """y_t = Σ_j kernel_j · x_{t−j}, each channel by its own kernel, by way of the fast Fourier transform.

    Args:    x (B,T,D); kernel (D,T)
    Returns: (B,T,D)
    """
    room = 2 * x.size(1)  # so that the end does not reach round to the start
    product = torch.fft.rfft(x.mT, room) * torch.fft.rfft(kernel, room)
    return torch.fft.irfft(product, room)[..., : x.size(1)].mT


def drawn_steps(d_inner: int, steps: tuple[float, float]) -> nn.Parameter:
    """What softplus makes Δ of (D), each Δ drawn between two numbers so that its logarithm is anywhere alike."""
    delta = torch.empty(d_inner).uniform_(*map(math.log, steps)).exp()
    return nn.Parameter(delta + (-torch.expm1(-delta)).log())


class TimeInvariant(Part):
    """A diagonal state-space layer: the state decays alike at every position, and every position joins it alike.

    h_t = Ā h_{t−1} + B̄ x_t;  y_t = 2 Re Σ_n C_n h_{t,n} + D x_t;  Ā = e^{ΔA}, B̄ = (e^{ΔA} − 1)/A

    Args:    x (B,T,D)
    Returns: (B,T,D)
    Taps:    kernel (D,T); mixed (B,T,D)
    Source:  Gu et al. 2022 (S4D), §3 and 4: S4D-Lin. Differs: B is 1, as in the published code: C can do its work
    """

    def __init__(self, d_inner: int, n_states: int, steps: tuple[float, float] = STEPS) -> None:
        super().__init__()
        self.step = drawn_steps(d_inner, steps)
        self.log_a = nn.Parameter(torch.full((d_inner, n_states), math.log(0.5)))  # of −Re A
        self.turn = nn.Parameter(math.pi * torch.arange(n_states).float().repeat(d_inner, 1))  # Im A
        self.read = nn.Parameter(math.sqrt(0.5) * torch.randn(d_inner, n_states, 2))  # Re and Im C
        self.skip = nn.Parameter(torch.ones(d_inner))  # D

    def delta(self) -> Tensor:
        """The step Δ of each channel (D), the same at every position."""
        return softplus(self.step)

    def discrete(self) -> tuple[Tensor, Tensor]:
        """Ā and B̄C (D,N), complex: what a position leaves of the state, and what x adds to y where it stands."""
        a = torch.complex(-self.log_a.exp(), self.turn)
        decay = (self.delta()[:, None] * a).exp()
        return decay, torch.view_as_complex(self.read) * (decay - 1) / a

    def kernel(self, length: int) -> Tensor:
        """How much of x stands in y after 0, 1, … positions (D,length): a sum of fading waves, one for each state."""
        _, read = self.discrete()
        time = self.delta()[:, None] * torch.arange(length, device=read.device)  # (D,length)
        kernel = torch.zeros_like(time)
        for fall, turn, height in zip(self.log_a.exp().mT, self.turn.mT, read.mT, strict=True):
            wave = (turn[:, None] * time + height.angle()[:, None]).cos()
            kernel = kernel + 2 * height.abs()[:, None] * (-fall[:, None] * time).exp() * wave
        return kernel

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        return tap("mixed", convolution(x, tap("kernel", self.kernel(x.size(1)))) + self.skip * x)

    def step_by_step(self, x: Tensor) -> Tensor:
        """What `forward` computes, position after position."""
        decay, read = self.discrete()
        states = recurrence(decay, x[..., None].to(decay.dtype).expand(*x.shape, decay.size(1)))
        return 2 * (states * read).sum(-1).real + self.skip * x


class Selective(Part):
    """Mamba's layer: each position chooses its step Δ, how it joins the state (B) and what it reads of it (C).

    h_t = e^{Δ_t A} h_{t−1} + Δ_t B_t x_t;  y_t = Σ_n C_{t,n} h_{t,n} + D x_t

    Args:    x (B,T,D)
    Returns: (B,T,D)
    Taps:    delta (B,T,D); joins, reads (B,T,N); states (B,D,T,N); mixed (B,T,D)
    Source:  Gu and Dao 2023, Algorithm 2. Differs: Δ_t B_t, as in the published code, where Eq. 4 has
             (e^{ΔA} − 1)/A · B, nearly the same for a small Δ
    """

    def __init__(self, d_inner: int, n_states: int, rank: int, steps: tuple[float, float] = STEPS) -> None:
        super().__init__()
        self.parts = rank, n_states, n_states
        self.w_x = nn.Linear(d_inner, sum(self.parts), bias=False)
        self.w_step = nn.Linear(rank, d_inner)
        nn.init.uniform_(self.w_step.weight, -(rank**-0.5), rank**-0.5)
        self.w_step.bias = drawn_steps(d_inner, steps)
        self.log_a = nn.Parameter(torch.arange(1.0, n_states + 1).log().repeat(d_inner, 1))  # of −A
        self.skip = nn.Parameter(torch.ones(d_inner))  # D

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        step, joins, reads = self.w_x(x).split(self.parts, dim=-1)
        delta = tap("delta", softplus(self.w_step(step)))
        joins, reads = tap("joins", joins), tap("reads", reads)
        decay = (delta[..., None] * -self.log_a.exp()).exp()  # (B,T,D,N)
        states = recurrence(decay, (delta * x)[..., None] * joins[..., None, :])
        states = tap("states", states.transpose(1, 2))
        return tap("mixed", torch.einsum("bdtn,btn->btd", states, reads) + self.skip * x)


class MambaBlock(Part):
    """A state-space layer between two projections, behind a short convolution and under a gate.

    Args:    x (B,T,d_model)
    Returns: (B,T,d_model)
    Taps:    near (B,T,D); space.*; gate (B,T,D)
    Source:  Gu and Dao 2023, §3.4, Figure 3. Differs: none
    """

    def __init__(self, d_model: int, space: TimeInvariant | Selective, reach: int = 4) -> None:
        super().__init__()
        d_inner = space.skip.numel()
        self.w_in = nn.Linear(d_model, 2 * d_inner, bias=False)
        self.conv = nn.Conv1d(d_inner, d_inner, reach, groups=d_inner, padding=reach - 1)
        self.space = space
        self.w_out = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        inner, gate = self.w_in(x).chunk(2, dim=-1)
        inner = self.conv(inner.mT)[..., : x.size(1)].mT  # each position from itself and the few just before it
        mixed = self.space(tap("near", silu(inner)), under("space", tap))
        result: Tensor = self.w_out(mixed * tap("gate", silu(gate)))
        return result


@describe.register
def _(module: MambaBlock, scribe: Scribe, x: str) -> str:
    """What pages show of it: the states of a selective layer."""
    if isinstance(module.space, Selective):
        space = scribe.under("space")
        reads = space.name("delta"), space.name("joins"), scribe.name("near")
        axes = ("d_inner", scribe.tokens, "state")
        space.made("states", "select", *reads, weights=("log_a",), axes=axes)
    return x
