"""The encoder-decoder: the Transformer of 2017 (Vaswani et al. 2017, §3)."""

from collections.abc import Sequence

from torch import Tensor

from model.anatomy.describe import Scribe, describe
from model.decoding.cache import KeyValueCache
from model.families.network import Inputs, Network
from model.parts.embedding import TokenEmbedding
from model.parts.fp16_matmul import times_transposed
from model.parts.layers import Memory
from model.parts.masks import causal_mask, pad_mask
from model.parts.stacks import Decoder, Encoder
from model.tap import Tap, no_tap, under
from model.text.tokenizer import EOS_ID


class EncoderDecoder(Network):
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

    def inputs(self, ids: Sequence[int]) -> Inputs:
        """A text and its end."""
        return Inputs([*ids, EOS_ID])

    def new_cache(self) -> KeyValueCache:
        """An empty cache that fits the decoder."""
        return KeyValueCache(len(self.decoder.layers))

    def encode(self, src_ids: Tensor, tap: Tap = no_tap) -> Memory:
        """The memory of src_ids (B,S): states (B,S,d_model), and a mask (B,1,1,S) that hides the padding."""
        inside, mask = under("encoder", tap), pad_mask(src_ids, self.pad_id)
        x = self.embedding(src_ids, under("embedding", inside))
        return Memory(self.encoder(x, mask, tap=inside), mask)

    def decode(self, tgt_ids: Tensor, memory: Memory, cache: KeyValueCache | None = None, tap: Tap = no_tap) -> Tensor:
        """logits (B,t,vocab_size) of tgt_ids (B,T): of all t = T positions, or of the newest t that a cache lacks."""
        start = cache.length if cache else 0
        mask = causal_mask(tgt_ids.size(1), tgt_ids.device, start)  # (1,1,t,T)
        inside = under("decoder", tap)
        x = self.embedding(tgt_ids[:, start:], under("embedding", inside), start)
        x = self.decoder(x, mask, memory, cache, inside)
        if cache:
            cache.length = tgt_ids.size(1)
        return self.output(x, tap)

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,T,vocab_size): x (B,T,d_model) times the transposed embedding matrix."""
        return tap("logits", times_transposed(x, self.embedding.matrix.weight))

    def forward(self, src_ids: Tensor, tgt_ids: Tensor, tap: Tap = no_tap) -> Tensor:
        return self.decode(tgt_ids, self.encode(src_ids, tap), tap=tap)


@describe.register
def _(module: EncoderDecoder, scribe: Scribe) -> str:
    encoder, decoder = scribe.of_stack("encoder", "src"), scribe.of_stack("decoder", "tgt")
    x = describe(module.embedding, encoder.under("embedding", module="embedding"))
    mask = encoder.made("mask", "pad_mask", axes=("one", "one", "src"))
    memory = describe(module.encoder, encoder, x, mask)
    x = describe(module.embedding, decoder.under("embedding", module="embedding"))
    mask = decoder.made("mask", "causal_mask", axes=("one", "tgt", "tgt"))
    memory_mask = decoder.made("memory_mask", "pad_mask", axes=("one", "one", "src"))
    x = describe(module.decoder, decoder, x, mask, memory, memory_mask)
    weights = ("embedding.matrix.weight",)
    return scribe.made("logits", "compare_with_embeddings", x, weights=weights, axes=("tgt", "vocab"))
