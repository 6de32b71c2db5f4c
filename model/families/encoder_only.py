"""An encoder alone: BERT and ELECTRA. It reads a text, or two, from both sides and writes nothing."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.families.network import Inputs, Network
from model.parts.embedding import SegmentEmbedding
from model.parts.fp16_matmul import times_transposed
from model.parts.layers import Memory
from model.parts.masks import pad_mask
from model.parts.stacks import Encoder
from model.tap import Tap, no_tap, under
from model.text.tokenizer import CLS_ID, SEP_ID


class MaskedTokenHead(nn.Module):
    """Turns a row of the encoder into one that is compared with every embedding: Norm(GELU(xW + b)).

    Args:    x (B,S,d_model)
    Returns: (B,S,d_embedding), which is d_model but in ALBERT
    Taps:    pre_activation, hidden, normed (B,S,d_embedding)
    Source:  Devlin et al. 2018, §3.1, task 1; the transformation is that of their published code. Differs: none
    """

    def __init__(self, d_model: int, d_embedding: int, norm: nn.Module, vocab_size: int) -> None:
        super().__init__()
        self.transform = nn.Linear(d_model, d_embedding)
        self.norm = norm
        self.bias = nn.Parameter(torch.zeros(vocab_size))  # added to the comparisons

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        hidden = tap("hidden", nn.functional.gelu(tap("pre_activation", self.transform(x))))
        return tap("normed", self.norm(hidden))


class NextSentenceHead(nn.Module):
    """From the row of [CLS] to two scores: that the second text follows the first, and that it does not.

    Args:    x (B,S,d_model)
    Returns: (B,1,2)
    Taps:    pre_activation, pooled (B,1,d_model); logits (B,1,2)
    Source:  Devlin et al. 2018, §3.1, task 2; the pooler is that of their published code. Differs: none
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.pooler = nn.Linear(d_model, d_model)
        self.classifier = nn.Linear(d_model, 2)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        pooled = tap("pooled", tap("pre_activation", self.pooler(x[:, :1])).tanh())
        return tap("logits", self.classifier(pooled))


class ReplacedTokenHead(nn.Module):
    """From a row of the encoder to one score: that another token stood there before, GELU(xW + b)·v + c.

    Args:    x (B,S,d_model)
    Returns: (B,S,1)
    Taps:    pre_activation, hidden (B,S,d_model)
    Source:  Clark et al. 2020 (ELECTRA), §2; the transformation is that of their published code. Differs: none
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.transform = nn.Linear(d_model, d_model)
        self.score = nn.Linear(d_model, 1)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        hidden = tap("hidden", nn.functional.gelu(tap("pre_activation", self.transform(x))))
        scores: Tensor = self.score(hidden)
        return scores


class Reader(Network):
    """[CLS] text [SEP], or [CLS] text [SEP] text [SEP], in; a row for every token out.

    Taps:    encoder.embedding.*; with widen: encoder.widened (B,S,d_model); encoder.*
    Source:  Devlin et al. 2018 (BERT), §3. Differs: attention has no biases
             With narrow embeddings and one layer gone through N times: Lan et al. 2019 (ALBERT), §3.1
    """

    n_marks = 2

    def __init__(
        self, embedding: SegmentEmbedding, encoder: Encoder, pad_id: int, widen: nn.Linear | None = None
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.widen = widen
        self.encoder = encoder
        self.pad_id = pad_id

    def inputs(self, ids: Sequence[int]) -> Inputs:
        """[CLS] text [SEP]."""
        return Inputs([CLS_ID, *ids, SEP_ID])

    def encode(self, src_ids: Tensor, tap: Tap = no_tap, segment_ids: Tensor | None = None) -> Memory:
        """The encoder's output: states (B,S,d_model), and a mask (B,1,1,S) that hides the padding.

        Args: segment_ids (B,S): 0 up to the first [SEP], 1 behind it, 0 everywhere if left out
        """
        inside, mask = under("encoder", tap), pad_mask(src_ids, self.pad_id)
        segments = torch.zeros_like(src_ids) if segment_ids is None else segment_ids
        x = self.embedding(src_ids, segments, under("embedding", inside))
        if self.widen:
            x = inside("widened", self.widen(x))
        return Memory(self.encoder(x, mask, tap=inside), mask)


class EncoderOnly(Reader):
    """BERT: for every row a score of every vocabulary entry, and whether the second text follows the first.

    Args:    src_ids (B,S) integer; segment_ids (B,S): 0 up to the first [SEP], 1 behind it, 0 everywhere if left out;
             rows (B,S) boolean: score these rows alone, which spares training most of the work
    Returns: logits (B,S,vocab_size), or (n,vocab_size) of the n rows asked for; next_sentence (B,1,2)
    Taps:    those of Reader; masked_token.*; logits (B,S,vocab_size); next_sentence.*
    Source:  Devlin et al. 2018 (BERT), §3.1. Differs: none but in Reader
    """

    def __init__(
        self,
        embedding: SegmentEmbedding,
        encoder: Encoder,
        masked_token: MaskedTokenHead,
        next_sentence: NextSentenceHead,
        pad_id: int,
        widen: nn.Linear | None = None,
    ) -> None:
        super().__init__(embedding, encoder, pad_id, widen)
        self.masked_token = masked_token
        self.next_sentence = next_sentence

    def output(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (…,vocab_size) of rows x (…,d_model)."""
        x = self.masked_token(x, under("masked_token", tap))
        return tap("logits", times_transposed(x, self.embedding.matrix.weight, self.masked_token.bias))

    def forward(
        self, src_ids: Tensor, segment_ids: Tensor | None = None, rows: Tensor | None = None, tap: Tap = no_tap
    ) -> tuple[Tensor, Tensor]:
        x = self.encode(src_ids, tap, segment_ids).states
        logits = self.output(x if rows is None else x[rows], tap)
        return logits, self.next_sentence(x, under("next_sentence", tap))


class Discriminator(Reader):
    """ELECTRA: for every row a score that its token was put in the place of another.

    Args:    src_ids (B,S) integer; segment_ids (B,S), 0 everywhere if left out
    Returns: logits (B,S,1); their sigmoid is the probability
    Taps:    those of Reader; replaced.*; logits, probability (B,S,1)
    Source:  Clark et al. 2020, §2. Differs: none but in Reader
    """

    def __init__(
        self,
        embedding: SegmentEmbedding,
        encoder: Encoder,
        replaced: ReplacedTokenHead,
        pad_id: int,
        widen: nn.Linear | None = None,
    ) -> None:
        super().__init__(embedding, encoder, pad_id, widen)
        self.replaced = replaced

    def forward(self, src_ids: Tensor, segment_ids: Tensor | None = None, tap: Tap = no_tap) -> Tensor:
        x = self.encode(src_ids, tap, segment_ids).states
        logits = tap("logits", self.replaced(x, under("replaced", tap)))
        tap("probability", logits.sigmoid())
        return logits


@describe.register
def _(module: MaskedTokenHead, scribe: Scribe, x: str) -> str:
    before = scribe.made("pre_activation", "linear", x, weights=("transform.weight", "transform.bias"))
    hidden = scribe.made("hidden", "gelu", before)
    return describe(module.norm, scribe.of_part("norm", "normed"), hidden)


@describe.register
def _(module: NextSentenceHead, scribe: Scribe, x: str) -> str:
    row, pooler, classifier = (
        ("one", "d_model"),
        ("pooler.weight", "pooler.bias"),
        ("classifier.weight", "classifier.bias"),
    )
    before = scribe.made("pre_activation", "linear", x, weights=pooler, axes=row)
    pooled = scribe.made("pooled", "tanh_of_row", before, axes=row)
    return scribe.made("logits", "linear", pooled, weights=classifier, axes=("one", "classes"))


@describe.register
def _(module: ReplacedTokenHead, scribe: Scribe, x: str) -> str:
    before = scribe.made("pre_activation", "linear", x, weights=("transform.weight", "transform.bias"))
    return scribe.made("hidden", "gelu", before)


def describe_encoder(module: Reader, scribe: Scribe) -> str:
    """Everything up to the encoder's rows, whose name is returned."""
    encoder = scribe.of_stack("encoder", "src")
    x = describe(module.embedding, encoder.under("embedding", module="embedding"))
    if module.widen:
        is_narrow(scribe, "encoder.embedding.")
        x = replace(encoder, module="").made("widened", "linear", x, weights=("widen.weight", "widen.bias"))
    return describe(module.encoder, encoder, x, encoder.made("mask", "pad_mask", axes=("one", "one", "src")))


@describe.register
def _(module: EncoderOnly, scribe: Scribe) -> str:
    x, heads = describe_encoder(module, scribe), replace(scribe, tokens="src")
    describe(module.next_sentence, heads.under("next_sentence"), x)
    x = describe(module.masked_token, heads.under("masked_token"), x)
    if module.widen:
        is_narrow(scribe, "masked_token.")
    weights = ("embedding.matrix.weight", "masked_token.bias")
    return scribe.made("logits", "compare_with_embeddings_and_bias", x, weights=weights, axes=("src", "vocab"))


@describe.register
def _(module: Discriminator, scribe: Scribe) -> str:
    x, row = describe_encoder(module, scribe), ("src", "one")
    x = describe(module.replaced, replace(scribe, tokens="src").under("replaced"), x)
    x = scribe.made("logits", "linear", x, weights=("replaced.score.weight", "replaced.score.bias"), axes=row)
    return scribe.made("probability", "sigmoid", x, axes=row)


def is_narrow(scribe: Scribe, path: str) -> None:
    """Write down that the rows under a path are as wide as the embeddings, not as the model."""
    for name, made in scribe.tensors.items():
        if name.startswith(path):
            scribe.tensors[name] = replace(made, axes=("src", "d_embedding"))
