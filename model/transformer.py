"""The whole machine: embeddings, both stacks, and the output (Vaswani et al. 2017, §3)."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from model.cache import KeyValueCache, NoCache
from model.layers import DecoderLayer, EncoderLayer
from model.masks import causal_mask, pad_mask
from model.positions import Sinusoidal
from model.tap import Tap, no_tap, under


class TokenEmbedding(nn.Module):
    """Row ids[b, t] of the embedding matrix, times √d_model, plus the encoding of position t.

    Args:    ids (B,T) integer, the first of them at position `start`
    Returns: (B,T,d_model)
    Taps:    tokens, scaled (B,T,d_model); positions (T,d_model); output (B,T,d_model)
    Source:  Vaswani et al. 2017, §3.4, §3.5 and §5.4 (dropout). Differs: none
    """

    def __init__(self, matrix: nn.Embedding, positions: Sinusoidal, dropout: float) -> None:
        super().__init__()
        self.matrix = matrix
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, tap: Tap = no_tap, start: int = 0) -> Tensor:
        tokens = tap("tokens", self.matrix(ids))  # (B,T,d_model)
        scaled = tap("scaled", tokens * math.sqrt(tokens.size(-1)))
        positions = tap("positions", self.positions.embed(ids.size(1), start))  # (T,d_model)
        return self.dropout(tap("output", scaled + positions))


class Encoder(nn.Module):
    """N encoder layers, one after the other.

    Args:    x (B,S,d_model); mask (B,1,1,S), True = may attend
    Returns: memory (B,S,d_model)
    Taps:    mask (B,1,1,S); layers.N.*
    """

    def __init__(self, layers: Sequence[EncoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, mask: Tensor, tap: Tap = no_tap) -> Tensor:
        mask = tap("mask", mask)
        for n, layer in enumerate(self.layers):
            x = layer(x, mask, under(f"layers.{n}", tap))
        return x


class Decoder(nn.Module):
    """N decoder layers, one after the other; each reads the same memory.

    Args:    x (B,T,d_model); memory (B,S,d_model); mask (1,1,T,T); memory_mask (B,1,1,S), True = may attend; cache
    Returns: (B,T,d_model)
    Taps:    mask (1,1,T,T); memory_mask (B,1,1,S); layers.N.*
    """

    def __init__(self, layers: Sequence[DecoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor,
        memory_mask: Tensor,
        tap: Tap = no_tap,
        cache: NoCache | None = None,
    ) -> Tensor:
        mask, memory_mask = tap("mask", mask), tap("memory_mask", memory_mask)
        for n, layer in enumerate(self.layers):
            path = f"layers.{n}"
            x = layer(x, memory, mask, memory_mask, under(path, tap), cache or NoCache(), path)
        return x


class EncoderDecoder(nn.Module):
    """The Transformer: source ids and the target so far in, one score for every vocabulary entry out.

    Args:    src_ids (B,S), tgt_ids (B,T) integer; tgt_ids begin with <sos>; `pad_id` fills short rows of a batch
    Returns: logits (B,T,vocab_size); row t scores the token that follows tgt_ids[:, t]
    Taps:    encoder.embedding.*, encoder.*, decoder.embedding.*, decoder.*, logits (B,T,vocab_size)
    Source:  Vaswani et al. 2017, §3, Figure 1; §3.4: both embeddings and the output share one matrix. Differs: none
    """

    def __init__(self, embedding: TokenEmbedding, encoder: Encoder, decoder: Decoder, pad_id: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.decoder = decoder
        self.pad_id = pad_id

    def encode(self, src_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        """memory (B,S,d_model) of src_ids (B,S)."""
        tap = under("encoder", tap)
        x = self.embedding(src_ids, under("embedding", tap))
        return self.encoder(x, pad_mask(src_ids, self.pad_id), tap)

    def decode(
        self, tgt_ids: Tensor, memory: Tensor, src_ids: Tensor, tap: Tap = no_tap, cache: KeyValueCache | None = None
    ) -> Tensor:
        """logits (B,t,vocab_size) of tgt_ids (B,T): of all t = T positions, or of the newest t that a cache lacks."""
        start = cache.length if cache else 0
        mask = causal_mask(tgt_ids.size(1), tgt_ids.device)[:, :, start:]  # (1,1,t,T)
        inside = under("decoder", tap)
        x = self.embedding(tgt_ids[:, start:], under("embedding", inside), start)
        x = self.decoder(x, memory, mask, pad_mask(src_ids, self.pad_id), inside, cache)
        if cache:
            cache.length = tgt_ids.size(1)
        return self.output(x, tap)

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,T,vocab_size): x (B,T,d_model) times the transposed embedding matrix."""
        return tap("logits", x @ self.embedding.matrix.weight.T)

    def forward(self, src_ids: Tensor, tgt_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        return self.decode(tgt_ids, self.encode(src_ids, tap), src_ids, tap)
