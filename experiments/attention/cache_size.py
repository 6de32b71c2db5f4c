"""What a decoder keeps of each piece, by the kind of its attention: counted from sizes."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["MHA", "GQA", "MQA", "MLA"]


@dataclass(frozen=True)
class Sizes:
    """Of a model's self-attention.

    kept: groups of heads that share a key and a value; for MLA the numbers of the row that is kept
    turned: MLA's short key beside it, which positions turn; bytes_each: of a number
    """

    name: str
    kind: Kind
    layers: int
    heads: int
    d_k: int
    kept: int
    turned: int = 0
    bytes_each: int = 2

    @property
    def numbers(self) -> int:
        """Kept of a piece in one layer: a key and a value for each group, or one row and a short key."""
        return self.kept + self.turned if self.kind == "MLA" else 2 * self.kept * self.d_k

    @property
    def n_bytes(self) -> int:
        """Kept of a piece in all layers."""
        return self.numbers * self.layers * self.bytes_each


# Touvron et al. 2023, Table 1 and §2.2.1; Almazrouei et al. 2023; DeepSeek-AI 2024, §3.1.2.
PUBLISHED = (
    Sizes("Llama 2, 7B", "MHA", 32, 32, 128, 32),
    Sizes("Llama 2, 70B", "GQA", 80, 64, 128, 8),
    Sizes("Falcon, 7B", "MQA", 32, 71, 64, 1),
    Sizes("DeepSeek-V2", "MLA", 60, 128, 128, 512, 64),
)


def of_kinds(layers: int, heads: int, d_k: int, bytes_each: int) -> tuple[Sizes, ...]:
    """One model with each kind: two groups; one; and DeepSeek-V2's shares of d_k, 4 for the row, a half beside it."""
    kinds: tuple[tuple[Kind, int, int], ...] = (
        ("MHA", heads, 0),
        ("GQA", 2, 0),
        ("MQA", 1, 0),
        ("MLA", 4 * d_k, d_k // 2),
    )
    return tuple(
        Sizes("this model", kind, layers, heads, d_k, kept, turned, bytes_each) for kind, kept, turned in kinds
    )
