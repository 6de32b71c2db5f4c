"""A model of another family, put together from parts of `model/` alone: decoder only, norm first, rotary, SwiGLU."""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, anatomy_of, describe
from model.config import ModelConfig
from model.decoding.cache import KeyValueCache
from model.families.network import Inputs, Network
from model.files.device import Device
from model.files.loaded_model import LoadedModel
from model.files.model_card import About
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import TokenEmbedding
from model.parts.feed_forward import GatedFeedForward
from model.parts.layers import EncoderLayer, Memory
from model.parts.masks import causal_mask
from model.parts.norms import RMSNorm
from model.parts.positions import Positions, Rotary
from model.parts.residual import PreNorm
from model.parts.stacks import Encoder
from model.tap import Tap, no_tap, under
from model.text.tokenizer import Tokenizer
from tests.small import SENTENCES

N_LAYERS, D_MODEL, N_HEADS, D_FF = 2, 24, 3, 29


class Writer(Network):
    """Tokens in, one score for every vocabulary entry out; each row sees itself and what came before."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(nn.Embedding(vocab_size, D_MODEL), Positions(), dropout=0.0)
        self.decoder = Encoder([self.layer() for _ in range(N_LAYERS)], RMSNorm(D_MODEL))

    def layer(self) -> EncoderLayer:
        attention = MultiHeadAttention(D_MODEL, N_HEADS, Rotary())
        return EncoderLayer(
            attention, PreNorm(RMSNorm(D_MODEL)), GatedFeedForward(D_MODEL, D_FF), PreNorm(RMSNorm(D_MODEL))
        )

    def inputs(self, ids: Sequence[int]) -> Inputs:
        return Inputs([], tuple(ids))

    def new_cache(self) -> KeyValueCache:
        return KeyValueCache(N_LAYERS)

    def encode(self, src_ids: Tensor, tap: Tap = no_tap) -> Memory:
        """Nothing: there is no encoder."""
        return Memory(torch.zeros(*src_ids.shape, D_MODEL), src_ids.bool()[:, None, None])

    def decode(self, tgt_ids: Tensor, memory: Memory, cache: KeyValueCache | None = None, tap: Tap = no_tap) -> Tensor:
        start = cache.length if cache else 0
        mask = causal_mask(tgt_ids.size(1))[:, :, start:]
        inside = under("decoder", tap)
        x = self.embedding(tgt_ids[:, start:], under("embedding", inside), start)
        x = self.decoder(x, mask, cache, inside)
        if cache:
            cache.length = tgt_ids.size(1)
        return tap("logits", x @ self.embedding.matrix.weight.T)


@describe.register
def _(module: Writer, scribe: Scribe) -> str:
    decoder = scribe.of_stack("decoder", "tgt")
    x = describe(module.embedding, decoder.under("embedding", module="embedding"))
    x = describe(module.decoder, decoder, x, decoder.made("mask", "causal_mask", axes=("one", "tgt", "tgt")))
    weights = ("embedding.matrix.weight",)
    return scribe.made("logits", "compare_with_embeddings", x, weights=weights, axes=("tgt", "vocab"))


@cache
def toy() -> LoadedModel:
    """The toy with random weights and a small tokenizer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        tokenizer = Tokenizer.train(SENTENCES, vocab_size=331)
        model = Writer(tokenizer.vocab_size).eval().requires_grad_(False)
        for name, weight in model.named_parameters():
            nn.init.normal_(weight, mean=1.0 if name.endswith("norm.weight") else 0.0, std=0.3)
    config = ModelConfig(tokenizer.vocab_size, D_MODEL, N_HEADS, N_LAYERS, D_FF)
    device = Device(torch.device("cpu"), "CPU")
    return LoadedModel("toy", config, model, tokenizer, device, About("A toy", "English", "text"), anatomy_of(model))
