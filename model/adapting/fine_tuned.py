"""A pre-trained model with a new head for one task: a score for each class, of a text or of each of its tokens."""

import torch
from torch import Tensor, nn

from model.families.decoder_only import DecoderOnly
from model.families.encoder_only import EncoderOnly, NextSentenceHead, Reader
from model.families.recurrent_language_model import RecurrentLanguageModel
from model.text.tokenizer import PAD_ID

HEADS = ("text", "tokens")


class FineTunedReader(nn.Module):
    """BERT, or ELECTRA's discriminator, with a head: scores from the row of [CLS], or from the row of every token.

    Args:    src_ids (B,S) integer; segment_ids (B,S)
    Returns: scores (B,classes), or (B,S,classes) of a head that looks at tokens
    Source:  Devlin et al. 2018, §3.2 and Figure 4. The row of [CLS] goes through the pre-trained pooler, as in their
             published code. Differs: a discriminator, which has no pooler, gets one
    """

    def __init__(self, network: Reader, n_classes: int, head: str = "text") -> None:
        super().__init__()
        if head not in HEADS:
            raise ValueError(f"there is no head={head!r}; choose one of {', '.join(HEADS)}")
        self.network = network
        d_model = network.widen.out_features if network.widen else network.embedding.matrix.embedding_dim
        self.of_tokens = new_head(d_model, n_classes) if head == "tokens" else None
        if head == "text":
            if not isinstance(network, EncoderOnly):
                network.next_sentence = NextSentenceHead(d_model)
            # In place of the two scores of the next-sentence task
            self.pooled.classifier = new_head(d_model, n_classes)

    @property
    def pooled(self) -> NextSentenceHead:
        """What looks at the row of [CLS]."""
        found: NextSentenceHead = self.network.get_submodule("next_sentence")  # type: ignore[assignment]
        return found

    @property
    def head(self) -> nn.Linear:
        """The new weights, which no pre-training has seen."""
        return self.of_tokens if self.of_tokens is not None else self.pooled.classifier

    def forward(self, src_ids: Tensor, segment_ids: Tensor) -> Tensor:
        x = self.network.encode(src_ids, segment_ids=segment_ids).states
        scores: Tensor = self.of_tokens(x) if self.of_tokens is not None else self.pooled(x)[:, 0]
        return scores


class FineTunedWriter(nn.Module):
    """GPT, or an LSTM in its place, with a head: scores from the last row of a text, which has seen all of it, or from
    the row of every token.

    Args:    tgt_ids (B,T) integer, padded behind the last token
    Returns: scores (B,classes), or (B,T,classes) of a head that looks at tokens
    Source:  Radford et al. 2018, §3.2, Eq. 3. Differs: the head has a bias
    """

    def __init__(self, network: DecoderOnly | RecurrentLanguageModel, n_classes: int, head: str = "text") -> None:
        super().__init__()
        self.network, self.of_tokens = network, head == "tokens"
        self.classifier = new_head(network.d_model, n_classes)

    @property
    def head(self) -> nn.Linear:
        """The new weights, which no pre-training has seen."""
        return self.classifier

    def scores(self, rows: Tensor, tgt_ids: Tensor) -> Tensor:
        last = (tgt_ids != PAD_ID).sum(1) - 1  # (B)
        scores: Tensor = self.classifier(rows if self.of_tokens else rows[torch.arange(len(rows)), last])
        return scores

    def forward(self, tgt_ids: Tensor) -> Tensor:
        return self.scores(self.network.rows(tgt_ids), tgt_ids)


FineTuned = FineTunedReader | FineTunedWriter


def new_head(d_model: int, n_classes: int) -> nn.Linear:
    """Random weights, drawn from torch's global generator as the rest of BERT's."""
    head = nn.Linear(d_model, n_classes)
    nn.init.normal_(head.weight, std=0.02)
    nn.init.zeros_(head.bias)
    return head
