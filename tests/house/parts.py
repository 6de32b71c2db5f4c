"""Parts that the app does not ship, each with its description and its rules of Check: nothing else knows of them."""

from torch import Tensor, nn

from explain.core import Cell, WorkedStep, subscript, tex
from model.anatomy.describe import Scribe, describe
from model.config import ModelConfig
from model.decoding.cache import NULL_CACHE, Cache, KeysValues
from model.parts.attention import describe_weighted_sum, scaled_dot_product_attention
from model.parts.base_module import Part
from model.parts.fp16_matmul import Linear
from model.parts.positions import Positions
from model.tap import Tap, no_tap

N_GROUPS, N_EXPERTS = 1, 2


class GroupedQueryAttention(Part):
    """Attention whose heads share keys and values, as many as there are groups (Ainslie et al. 2023, §2.2).

    Taps: q (B,H,T,d_k); group_k, group_v (B,G,S,d_k); k, v (B,H,S,d_k) and all else as in MultiHeadAttention
    """

    def __init__(self, d_model: int, n_heads: int, positions: Positions) -> None:
        super().__init__()
        self.n_heads, self.d_k, self.positions = n_heads, d_model // n_heads, positions
        self.w_q, self.w_o = Linear(d_model, d_model, bias=False), Linear(d_model, d_model, bias=False)
        self.w_k = Linear(d_model, N_GROUPS * self.d_k, bias=False)
        self.w_v = Linear(d_model, N_GROUPS * self.d_k, bias=False)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache = NULL_CACHE, tap: Tap = no_tap
    ) -> Tensor:
        def split(rows: Tensor) -> Tensor:
            return rows.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

        def project() -> KeysValues:
            return split(self.w_k(memory)), split(self.w_v(memory))

        def shared(name: str, x: Tensor) -> Tensor:
            return tap(name, tap(f"group_{name}", x).repeat_interleave(self.n_heads // N_GROUPS, 1))

        keys, values = cache.keys_values(project)
        q, k, v = tap("q", split(self.w_q(x))), shared("k", keys), shared("v", values)
        q = self.positions.rotate("q", q, k.size(-2) - q.size(-2), tap)
        k = self.positions.rotate("k", k, 0, tap)
        bias = self.positions.bias(q.size(-2), k.size(-2), tap)
        heads = scaled_dot_product_attention(q, k, v, mask, tap, bias)
        return tap("output", self.w_o(tap("concat", heads.transpose(1, 2).flatten(-2))))


@describe.register
def _(module: GroupedQueryAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    rows, columns, names = scribe.tokens, scribe.axes(memory)[0], []
    q = scribe.made("q", "project", x, weights=("w_q.weight",), axes=("head", rows, "d_k"))
    for name in "kv":
        weights = (f"w_{name}.weight",)
        group = scribe.made(f"group_{name}", "project", memory, weights=weights, axes=("group", columns, "d_k"))
        names.append(scribe.made(name, "share_in_group", group, axes=("head", columns, "d_k")))
    q = describe(module.positions, scribe.of_part("positions", "rotated_q"), q)
    k = describe(module.positions, scribe.of_part("positions", "rotated_k"), names[0])
    heads = describe_weighted_sum(module.positions, scribe, (q, k, names[1]), ("head", rows, columns))
    scribe.attends(x, memory, mask, module.n_heads, module.d_k)
    concat = scribe.made("concat", "concatenate", heads, axes=(rows, "d_model"))
    return scribe.made("output", "linear", concat, weights=("w_o.weight",), axes=(rows, "d_model"))


class SquaredReLU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu().square()


@describe.register
def _(module: SquaredReLU, scribe: Scribe, x: str) -> str:
    return scribe.made(scribe.writes, "squared_relu", x, axes=scribe.axes(x))


class TwoExperts(Part):
    """Two feed-forward networks side by side; a router shares each row out among them (Jacobs et al. 1991).

    Taps: router, shares (B,T,E); pre_activation, activated, hidden (B,T,E·d_ff); output (B,T,d_model)
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.router, self.activation = Linear(d_model, N_EXPERTS), SquaredReLU()
        self.w_1, self.w_2 = Linear(d_model, N_EXPERTS * d_ff), Linear(N_EXPERTS * d_ff, d_model)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        shares = tap("shares", tap("router", self.router(x)).softmax(-1))
        activated = tap("activated", self.activation(tap("pre_activation", self.w_1(x))))
        of_experts = activated.unflatten(-1, (N_EXPERTS, -1))
        return tap("output", self.w_2(tap("hidden", (shares[..., None] * of_experts).flatten(-2))))


@describe.register
def _(module: TwoExperts, scribe: Scribe, x: str) -> str:
    experts, units = (scribe.tokens, "experts"), (scribe.tokens, "d_ff")
    router = scribe.made("router", "linear", x, weights=("router.weight", "router.bias"), axes=experts)
    shares = scribe.made("shares", "share_out", router, axes=experts)
    before = scribe.made("pre_activation", "linear", x, weights=("w_1.weight", "w_1.bias"), axes=units)
    activated = describe(module.activation, scribe.of_part("activation", "activated"), before)
    hidden = scribe.made("hidden", "weigh_expert", activated, shares, axes=units)
    scribe.units[hidden] = module.w_1.out_features
    return scribe.made("output", "linear", hidden, weights=("w_2.weight", "w_2.bias"))


def _step(cell: Cell, snippet: str) -> WorkedStep:
    return WorkedStep("A toy.", rf"\ldots = {tex(cell.value)}", cell.value, snippet, cell.made.reads)


def _shared(cell: Cell) -> WorkedStep:
    head, *others = cell.index
    n_heads, (group,) = cell.numbers[cell.name].shape[0], cell.made.reads
    return _step(cell, f't["{group}"]{subscript((head * N_GROUPS // n_heads, *others))}')


def _weighed(cell: Cell) -> WorkedStep:
    (row, unit), (activated, shares) = cell.index, cell.made.reads
    expert = unit * N_EXPERTS // cell.numbers[activated].shape[-1]
    return _step(cell, f't["{activated}"]{subscript(cell.index)} * t["{shares}"]{subscript((row, expert))}')


def _share(cell: Cell) -> WorkedStep:
    (row, expert), (router,) = cell.index, cell.made.reads
    return _step(cell, f'e = np.exp(t["{router}"][{row}])\ne[{expert}] / e.sum()')


def _squared(cell: Cell) -> WorkedStep:
    return _step(cell, f'max(0, t["{cell.made.reads[0]}"]{subscript(cell.index)}) ** 2')


def grouped_query(config: ModelConfig, positions: Positions, causal: bool = False) -> GroupedQueryAttention:
    return GroupedQueryAttention(config.d_model, config.n_heads, positions)


def two_experts(config: ModelConfig) -> TwoExperts:
    return TwoExperts(config.d_model, config.d_ff)


RULES = {"share_in_group": _shared, "weigh_expert": _weighed, "share_out": _share, "squared_relu": _squared}
ATTENTION, FEED_FORWARD = "grouped_query", "two_experts"
