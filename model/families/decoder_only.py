"""A decoder alone: GPT. It reads a text and goes on writing it (Radford et al. 2018, 2019)."""

from collections.abc import Sequence

from torch import Tensor

from model.anatomy.describe import Scribe, describe
from model.decoding.cache import KeyValueCache
from model.families.network import Inputs, Network
from model.parts.embedding import UnscaledEmbedding
from model.parts.fp16_matmul import times_transposed
from model.parts.layers import Memory
from model.parts.masks import causal_mask
from model.parts.stacks import Encoder
from model.tap import Tap, no_tap, under


class DecoderOnly(Network):
    """Token ids in, one score for every vocabulary entry out; each row sees itself and what came before.

    Its layers are encoder layers with a causal mask: there is no memory that a cross-attention could read.

    Args:    tgt_ids (B,T) integer, beginning with <sos>
    Returns: logits (B,T,vocab_size); row t scores the token that follows tgt_ids[:, t]
    Taps:    decoder.embedding.*, decoder.*, logits (B,T,vocab_size)
    Source:  Radford et al. 2018 (GPT), §3.1; norms first and a last norm as in Radford et al. 2019 (GPT-2), §2.3; the
             output shares the embedding matrix. Differs: attention has no biases
    """

    def __init__(self, embedding: UnscaledEmbedding, decoder: Encoder) -> None:
        super().__init__()
        self.embedding = embedding
        self.decoder = decoder

    def inputs(self, ids: Sequence[int]) -> Inputs:
        """No source: the target goes on where the text ends."""
        return Inputs([], tuple(ids))

    def new_cache(self) -> KeyValueCache:
        return KeyValueCache(len(self.decoder.layers))

    def encode(self, src_ids: Tensor, tap: Tap = no_tap) -> Memory:
        """An empty memory (B,0,d_model): there is no source, so src_ids are (B,0)."""
        states = self.embedding.matrix.weight.new_zeros(*src_ids.shape, self.d_model)
        return Memory(states, src_ids.bool()[:, None, None])

    def decode(self, tgt_ids: Tensor, memory: Memory, cache: KeyValueCache | None = None, tap: Tap = no_tap) -> Tensor:
        """logits (B,t,vocab_size) of tgt_ids (B,T): of all t = T positions, or of the newest t that a cache lacks."""
        start = cache.length if cache else 0
        mask = causal_mask(tgt_ids.size(1), tgt_ids.device, start)  # (1,1,t,T)
        inside = under("decoder", tap)
        x = self.embedding(tgt_ids[:, start:], under("embedding", inside), start)
        x = self.decoder(x, mask, cache, inside)
        if cache:
            cache.length = tgt_ids.size(1)
        return self.output(x, tap)

    @property
    def d_model(self) -> int:
        return self.embedding.matrix.embedding_dim

    def rows(self, tgt_ids: Tensor) -> Tensor:
        """What is compared with every embedding (B,T,d_model)."""
        rows: Tensor = self.decoder(self.embedding(tgt_ids), causal_mask(tgt_ids.size(1), tgt_ids.device))
        return rows

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,T,vocab_size): x (B,T,d_model) times the transposed embedding matrix."""
        return tap("logits", times_transposed(x, self.embedding.matrix.weight))

    def forward(self, tgt_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        return self.decode(tgt_ids, self.encode(tgt_ids[:, :0]), tap=tap)


@describe.register
def _(module: DecoderOnly, scribe: Scribe) -> str:
    decoder = scribe.of_stack("decoder", "tgt")
    x = describe(module.embedding, decoder.under("embedding", module="embedding"))
    mask = decoder.made("mask", "causal_mask", axes=("one", "tgt", "tgt"))
    x = describe(module.decoder, decoder, x, mask)
    weights = ("embedding.matrix.weight",)
    return scribe.made("logits", "compare_with_embeddings", x, weights=weights, axes=("tgt", "vocab"))
