"""What a decoder keeps of each piece, by the kind of its attention: counted from sizes, and measured."""

from dataclasses import dataclass

import torch

from model.files.loaded_model import LoadedModel
from model.text.tokenizer import EOS_ID, SOS_ID


@dataclass(frozen=True)
class Kept:
    """numbers: of a piece in one layer, a key and a value for each group of heads; MLA: one row and a short key that
    positions turn; bytes_each: of a number
    """

    model: str
    kind: str
    numbers: int
    layers: int
    bytes_each: int = 2

    @property
    def n_bytes(self) -> int:
        """Of a piece in all layers."""
        return self.numbers * self.layers * self.bytes_each


# Touvron et al. 2023, §2.2 and A.2.1; Almazrouei et al. 2023; DeepSeek-AI 2024, §3.1.2: groups times d_k, twice.
PUBLISHED = (
    Kept("Llama 2, 7B", "MHA", 2 * 32 * 128, 32),
    Kept("Llama 2, 70B", "GQA", 2 * 8 * 128, 80),
    Kept("Falcon, 7B", "MQA", 2 * 64, 32),
    Kept("DeepSeek-V2", "MLA", 512 + 64, 60),
)


def of_kinds(layers: int, heads: int, d_k: int, bytes_each: int) -> list[Kept]:
    """One model with each kind: two groups; one; and DeepSeek-V2's shares of d_k, 4 for the row, a half beside it."""
    numbers = {"MHA": 2 * heads * d_k, "GQA": 2 * 2 * d_k, "MQA": 2 * d_k, "MLA": 4 * d_k + d_k // 2}
    return [Kept("this model", kind, count, layers, bytes_each) for kind, count in numbers.items()]


@torch.inference_mode()
def kept_by(loaded: LoadedModel) -> int:
    """Bytes that the decoder's self-attentions keep of a piece in all layers, measured: what two pieces add to a cache
    beside what one does.
    """
    cache, device = loaded.model.new_cache(), loaded.device.torch
    memory = loaded.model.encode(torch.tensor([[EOS_ID]], device=device))
    held = []
    for n in (1, 2):
        loaded.model.decode(torch.full((1, n), SOS_ID, device=device), memory, cache)
        held.append(cache.nbytes)
    return held[1] - held[0]
