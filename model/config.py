"""The numbers that define a model. Only `model.build` reads them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of an encoder-decoder Transformer (Vaswani et al. 2017, §3 and Table 3).

    Raises: ValueError, naming the numbers, if `d_model` is odd or not divisible by `n_heads`.
    """

    vocab_size: int = 8000
    d_model: int = 256
    n_heads: int = 4
    n_layers: int = 3  # in the encoder, and as many again in the decoder
    d_ff: int = 1024
    max_len: int = 256  # longest sequence, in tokens, that positions are prepared for
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.n_heads < 1 or self.d_model % self.n_heads:
            raise ValueError(f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}")
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} is odd; sines and cosines come in pairs")

    @property
    def d_k(self) -> int:
        """Width of one head: d_model / n_heads."""
        return self.d_model // self.n_heads


PRESETS: dict[str, ModelConfig] = {
    # The shipped translator: d_k = 64 as in the paper, everything else about half its base model.
    "base": ModelConfig(),
    # Seconds to train: for tests and for trying the training command.
    "tiny": ModelConfig(vocab_size=500, d_model=32, n_heads=2, n_layers=1, d_ff=64),
    # Transformer-Tiny of Wu et al. 2021 (ACL), the published Multi30k baseline.
    "multi30k": ModelConfig(vocab_size=10000, d_model=128, n_heads=4, n_layers=4, d_ff=256, dropout=0.3),
}
