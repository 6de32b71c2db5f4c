"""The numbers and names that define a model. Only `model.build` reads them."""

from dataclasses import dataclass, replace

# The kinds of each part that `model.build` knows; those of Vaswani et al. 2017 come first.
CHOICES: dict[str, tuple[str, ...]] = {
    "positions": ("sinusoidal", "learned", "relative", "rotary", "alibi", "none"),
    "norm": ("layer", "rms"),
    "norm_place": ("post", "pre", "sandwich", "deep"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"),
    "attention": (
        "multi_head",
        "windowed",
        "linear",
        "linear_exponential",
        "squeezed",
        "grouped_query",
        "multi_query",
        "latent",
    ),
    "feed_forward": ("position_wise", "experts", "experts_top_2"),
}

# These have no square of scores that a relative position scheme could add to.
WITHOUT_PAIRS, ADDED_TO_PAIRS = ("windowed", "linear", "linear_exponential", "squeezed"), ("relative", "alibi")

# How the parts are put together; see `model.families`.
FAMILIES = ("encoder_decoder", "decoder_only", "encoder_only", "discriminator")
READERS = ("encoder_only", "discriminator")


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and parts of a Transformer (Vaswani et al. 2017, §3 and Table 3), and the family that they make.

    Raises: ValueError, naming the numbers, if `d_model` is odd or not divisible by `n_heads`; naming the choices, if
            there is no such part, or if two of them do not fit
    """

    vocab_size: int = 8000
    d_model: int = 256
    n_heads: int = 4
    n_layers: int = 3  # of each stack
    d_ff: int = 1024  # of a network without a gate; one with a gate gets 2/3 of it, so that it has as many weights
    max_len: int = 256  # longest sequence, in tokens, that positions are prepared for and training takes
    dropout: float = 0.1
    positions: str = "sinusoidal"
    norm: str = "layer"
    norm_place: str = "post"
    activation: str = "relu"
    attention: str = "multi_head"
    feed_forward: str = "position_wise"
    n_experts: int = 4  # of a feed-forward network that asks one or two of several
    d_latent: int = 48  # of latent attention: the width of what it keeps of a position, beside a short key
    reach: int = 64  # of windowed attention: how many positions away a query sees, to either side
    block: int = 16  # of squeezed attention: as many positions become
    n_squeezed: int = 4  # as many keys
    family: str = "encoder_decoder"
    d_embedding: int = 0  # of an encoder alone: the width of its embeddings, which are widened; 0: d_model
    shares_layers: bool = False  # of an encoder alone: all its layers have the same weights
    rest_of: str = ""  # the model, in the folder beside, whose weights stand where these have none

    def __post_init__(self) -> None:
        if self.n_heads < 1 or self.d_model % self.n_heads:
            raise ValueError(f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}")
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} is odd; sines and cosines come in pairs")
        for name, choices in {**CHOICES, "family": FAMILIES}.items():
            if (value := getattr(self, name)) not in choices:
                raise ValueError(f"there is no {name}={value!r}; choose one of {', '.join(choices)}")
        if self.attention in WITHOUT_PAIRS and self.positions in ADDED_TO_PAIRS:
            raise ValueError(f"attention={self.attention!r} has no scores of all pairs to add {self.positions!r} to")
        if self.feed_forward.startswith("experts") and self.activation != "relu":
            raise ValueError(f"experts have activation='relu', not {self.activation!r}")
        if self.family not in READERS and (self.d_embedding or self.shares_layers):
            raise ValueError(f"family={self.family!r} has neither d_embedding nor shares_layers")
        if self.reach < 0:
            raise ValueError(f"reach={self.reach} is negative")

    @property
    def d_k(self) -> int:
        """Width of one head: d_model / n_heads."""
        return self.d_model // self.n_heads


# GPT-2's parts at a third of its width; 128 tokens are more than any text of the app.
GPT_MINI = ModelConfig(
    n_layers=4,
    max_len=128,
    dropout=0.0,
    positions="learned",
    norm_place="pre",
    activation="gelu_tanh",
    family="decoder_only",
)

NARROWER = (16, 32, 64)  # widths at which gpt-mini's like are trained, too


def narrow(width: int) -> str:
    """The name of a GPT of that width."""
    return f"gpt-{width}"


RESTORER = ModelConfig(n_layers=2, max_len=128, dropout=0.0)

PRESETS: dict[str, ModelConfig] = {
    # The shipped translator: d_k = 64 as in the paper, everything else about half its base model.
    "base": ModelConfig(),
    # Seconds to train: for tests and for trying the training command.
    "tiny": ModelConfig(vocab_size=500, d_model=32, n_heads=2, n_layers=1, d_ff=64),
    # The sizes of Transformer-Tiny of Wu et al. 2021 (ACL), the published Multi30k baseline. The norm stands before
    # each sublayer and positions are rotated: of what was tried, that learned best; see docs/multi30k.md.
    "multi30k-tiny": ModelConfig(
        vocab_size=10000,
        d_model=128,
        n_heads=4,
        n_layers=4,
        d_ff=256,
        dropout=0.3,
        positions="rotary",
        norm_place="pre",
    ),
    # Two million parameters, so that many can be trained alike and shipped: half the translator's width, d_ff = 4 ·
    # d_model as in the paper. No pair of its training data but one is longer than max_len, so that a sentence of a
    # hundred tokens is longer than all that it has seen.
    "sibling": ModelConfig(d_model=128, n_heads=4, n_layers=2, d_ff=512, max_len=64),
    "gpt-mini": GPT_MINI,
    "gpt-linear": replace(GPT_MINI, attention="linear_exponential"),
    "gpt-squeezed": replace(GPT_MINI, attention="squeezed"),
    # BERT's parts, as wide and as deep as gpt-mini.
    "bert-mini": ModelConfig(
        n_layers=4, max_len=128, dropout=0.0, positions="learned", activation="gelu", family="encoder_only"
    ),
    # Two that restore texts, with BART's parts but its positions. T5 is BART with a decoder that learned anew, and with
    # 16 sentinels behind the vocabulary. The longest source that the app reads has 101 pieces.
    "bart-mini": replace(RESTORER, activation="gelu"),
    "t5-mini": replace(RESTORER, vocab_size=8016, activation="gelu", rest_of="bart-mini"),
    # gpt-mini, narrower: what is gained by size.
    **{narrow(width): replace(GPT_MINI, d_model=width, d_ff=4 * width) for width in NARROWER},
}
