"""Fine-tune: a new head on a pre-trained model, and a short training on one task.

Four tasks, as in Figure 4 of Devlin et al. 2018: the class of a text, the class of a pair, a span of a text, a class
for every word.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.optim.swa_utils import AveragedModel

from model.adapting.fine_tuned import FineTuned, FineTunedWriter
from model.families.decoder_only import DecoderOnly
from model.families.encoder_only import Reader
from model.text.tokenizer import EOS_ID, MASK_ID, PAD_ID, SOS_ID, Tokenizer
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe
from training.loop.text_rows import N_SPECIALS, framed
from training.loop.updates import ONE_DEVICE, Batch, Learner, Loss, Machinery, Step, training_steps

NO_LABEL = -100  # of a token that is not asked about
SEED = 0  # of the order of the batches
SPAN = 2  # scores of each token: that the answer begins here, that it ends here
KINDS = ("sentence", "pair", "span", "tags")


@dataclass(frozen=True)
class Example:
    """A text, or two, as a model reads it, and what is right.

    label: the number of the class; for a span the positions of its first and last token; for tags the class of each
           token, NO_LABEL where none is asked for
    """

    ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    label: int | tuple[int, ...]


def text_example(tokenizer: Tokenizer, text: str, label: int, max_len: int, second: str | None = None) -> Example:
    """[CLS] text [SEP], or [CLS] text [SEP] text [SEP]; what is too long loses its end."""
    ids = [np.array(tokenizer.encode(one), dtype=np.uint16) for one in (text, second) if one is not None]
    room = (max_len - 1 - len(ids)) // len(ids)
    row = framed(ids[0][:room], ids[1][:room] if second is not None else None)
    return Example(tuple(row.ids.tolist()), tuple(row.segment_ids.tolist()), label)


def written_example(tokenizer: Tokenizer, text: str, label: int, max_len: int) -> Example:
    """<sos> text <eos> for a GPT: its head looks at the row of <eos>. What is too long loses its end."""
    ids = (SOS_ID, *tokenizer.encode(text)[: max_len - 2], EOS_ID)
    return Example(ids, (0,) * len(ids), label)


def tags_example(tokenizer: Tokenizer, words: Sequence[str], classes: Sequence[int], max_len: int) -> Example:
    """The class of a word is asked of its first token."""
    ids: list[int] = []
    labels: list[int] = []
    for word, pieces, one in zip(words, tokenizer.encode_batch(list(words)), classes, strict=True):
        if not pieces:
            raise ValueError(f"the word {word!r} has no pieces")
        ids += pieces
        labels += [one, *[NO_LABEL] * (len(pieces) - 1)]
    room = max_len - 2
    row = framed(np.array(ids[:room], dtype=np.uint16))
    return Example(tuple(row.ids.tolist()), tuple(row.segment_ids.tolist()), (NO_LABEL, *labels[:room], NO_LABEL))


def span_example(
    tokenizer: Tokenizer, question: str, context: str, answer: str, start: int, max_len: int
) -> Example | None:
    """[CLS] question [SEP] context [SEP] with the answer's first and last token; None if it does not fit."""
    asked = tokenizer.encode(question)
    pieces = tokenizer.encode(context)
    row = framed(np.array(asked, dtype=np.uint16), np.array(pieces, dtype=np.uint16))
    if len(row.ids) > max_len:
        return None
    # Every piece but the first brings the space before it along; the tokenizer puts one before the text, too.
    ends = list(accumulate(len(tokenizer.piece_bytes(id)) for id in pieces))
    first_byte = len(context[:start].encode()) + 1
    last_byte = first_byte + len(answer.encode())
    inside = [n for n, end in enumerate(ends) if end > first_byte and (ends[n - 1] if n else 0) < last_byte]
    at = len(asked) + 2
    return Example(tuple(row.ids.tolist()), tuple(row.segment_ids.tolist()), (at + inside[0], at + inside[-1]))


def for_a_writer(one: Example, at_ends: bool = False) -> Example:
    """The same tokens for a GPT: <sos> in the place of [CLS], <eos> in that of the last [SEP].

    Args: at_ends: ask about each word at its last token, not its first: a GPT has not read the others before
    """
    label = one.label
    if at_ends and isinstance(label, tuple):
        moved_on, waiting = [NO_LABEL] * len(label), NO_LABEL
        for n in range(1, len(label)):
            waiting = label[n] if label[n] != NO_LABEL else waiting
            if n + 1 < len(label) and (label[n + 1] != NO_LABEL or n + 2 == len(label)):
                moved_on[n] = waiting
        label = tuple(moved_on)
    return Example((SOS_ID, *one.ids[1:-1], EOS_ID), one.segment_ids, label)


# --- batches, the loss and what is right ------------------------------------------------------------------------------


def collate(examples: Sequence[Example]) -> dict[str, Tensor]:
    """Returns: src_ids, segment_ids (B,S), padded; labels (B), (B,2) of spans, (B,S) of tags, padded with NO_LABEL"""
    src_ids, segment_ids = (
        pad_sequence([torch.tensor(getattr(one, name)) for one in examples], True, PAD_ID)
        for name in ("ids", "segment_ids")
    )
    labels = [torch.tensor(one.label) for one in examples]
    return {"src_ids": src_ids, "segment_ids": segment_ids, "labels": _stacked(labels)}


def _stacked(labels: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(labels)) if labels[0].dim() == 0 else pad_sequence(list(labels), True, NO_LABEL)


def batches(examples: Sequence[Example], size: int, seed: int) -> Iterator[dict[str, Tensor]]:
    """Batches without end, of texts of about the same length, so that little is padding."""
    rng = random.Random(seed)
    while True:
        order = sorted(range(len(examples)), key=lambda n: (len(examples[n].ids), rng.random()))
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        rng.shuffle(parts)
        for part in parts:
            yield collate([examples[n] for n in part])


def some_hidden(given: Iterable[dict[str, Tensor]], share: float, seed: int) -> Iterator[dict[str, Tensor]]:
    """The batches with this share of their tokens replaced by [MASK], others in each: so a model learns no text by
    heart.

    Source: Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods", §2.3 (word dropout). Differs: the
            token is masked, not left out
    """
    random = torch.Generator().manual_seed(seed)
    for batch in given:
        ids = batch["src_ids"]
        hidden = (torch.rand(ids.shape, generator=random) < share) & (ids >= N_SPECIALS)
        yield batch | {"src_ids": ids.masked_fill(hidden, MASK_ID)}


def span_scores(scores: Tensor, src_ids: Tensor) -> Tensor:
    """(B,2,S) of scores (B,S,2): no answer begins or ends in padding."""
    return scores.masked_fill((src_ids == PAD_ID)[..., None], float("-inf")).transpose(1, 2)


def scores_of(model: nn.Module, kind: str, batch: Batch) -> Tensor:
    """Scores whose last axis are the choices: of a text (B,classes), of a span (B,2,S), of tags (B,S,classes)."""
    given = [batch["src_ids"]] if isinstance(model, FineTunedWriter) else [batch["src_ids"], batch["segment_ids"]]
    return _of_choices(model(*given), kind, batch)


def _of_choices(scores: Tensor, kind: str, batch: Batch) -> Tensor:
    return span_scores(scores, batch["src_ids"]) if kind == "span" else scores


def loss_of(kind: str, auxiliary: float = 0.0) -> Loss:
    """The loss on a batch: the mean cross-entropy in nats of all that is asked for.

    Args:   auxiliary: of a GPT λ, the weight of the language-model loss that goes along: L₃ = L₂ + λL₁
    Source: Radford et al. 2018, §3.2, Eq. 5 (λ = 0.5, §4.1). Differs: means instead of sums
    """

    def loss_of_answers(scores: Tensor, batch: Batch) -> Tensor:
        return cross_entropy(scores.flatten(0, -2), batch["labels"].flatten(), ignore_index=NO_LABEL)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        if not auxiliary:
            return loss_of_answers(scores_of(model, kind, batch), batch)
        assert isinstance(model, FineTunedWriter)
        ids = batch["src_ids"]
        rows = model.network.rows(ids)
        logits = model.network.output(rows[:, :-1])
        of_tokens = cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD_ID)
        return loss_of_answers(_of_choices(model.scores(rows, ids), kind, batch), batch) + auxiliary * of_tokens

    return loss


@dataclass(frozen=True)
class Accuracy:
    """The share of `n` answers that are right; a span is right if both its ends are."""

    right: float
    n: int

    @property
    def standard_error(self) -> float:
        """√(p(1−p)/n): about so far would another test set of this size put it."""
        return float((self.right * (1 - self.right) / self.n) ** 0.5)


@torch.no_grad()
def accuracy(model: nn.Module, kind: str, examples: Sequence[Example], size: int = 64) -> Accuracy:
    """Leaves the model in evaluation mode."""
    model.eval()
    right = n = 0
    in_order = sorted(examples, key=lambda one: len(one.ids))
    for start in range(0, len(in_order), size):
        batch = collate(in_order[start : start + size])
        hits = scores_of(model, kind, batch).argmax(-1) == batch["labels"]
        hits = hits.all(-1) if kind == "span" else hits[batch["labels"] != NO_LABEL]
        right, n = right + int(hits.sum()), n + hits.numel()
    return Accuracy(right / n, n)


# --- training ---------------------------------------------------------------------------------------------------------


def recipe(steps: int, learning_rate: float) -> Recipe:
    """A short rise and a long fall: the weights are to move little."""
    return Recipe(
        steps,
        peak_learning_rate=learning_rate,
        warmup_steps=max(1, steps // 10),
        decay_fraction=0.9,
        label_smoothing=0.0,
        variation=NO_VARIATION,
    )


class NoAverage(AveragedModel):
    """Keeps no running average: at the end the learning rate has fallen to 0, so the last weights are good."""

    def __init__(self) -> None:
        super().__init__(nn.Identity())

    def update_parameters(self, model: nn.Module) -> None:
        """Nothing."""


def train_only(model: nn.Module, names: Sequence[str]) -> int:
    """Let only the weights learn whose names begin so; returns how many numbers these are."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(tuple(names)))
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def fine_tune(
    model: FineTuned,
    examples: Sequence[Example],
    chosen: Recipe,
    loss: Loss,
    batch_size: int = 32,
    machinery: Machinery = ONE_DEVICE,
    hides: float = 0.0,
) -> Iterator[Step]:
    """Change the model's weights, those that may learn, step by step.

    Args:   hides: the share of tokens that are masked, see `some_hidden`
    Raises: training.loop.updates.DivergedError
    """
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(learning, chosen.peak_learning_rate, betas=(0.9, 0.98), eps=1e-9, fused=True)
    learner = Learner(model, NoAverage(), optimizer)
    given = some_hidden(batches(examples, batch_size, SEED), hides, SEED)
    return training_steps(learner, given, chosen, loss, machinery=machinery)


# --- what moved -------------------------------------------------------------------------------------------------------


def parts_of(model: FineTuned) -> dict[str, nn.Module]:
    """What was pre-trained, part by part, by names that count from 1: the embedding, every layer, a reader's pooler."""
    network: nn.Module = model.network
    if isinstance(network, Reader):
        stack, last = network.encoder, {"pooler": network.get_submodule("next_sentence.pooler")}
    else:
        assert isinstance(network, DecoderOnly)
        stack, last = network.decoder, {}
    layers = {f"layer {n}": layer for n, layer in enumerate(stack.layers, 1)}
    return {"embedding": network.embedding, **layers, **last}


def weights_of(part: nn.Module) -> Tensor:
    """All numbers of a part in a row."""
    return torch.cat([parameter.detach().flatten() for parameter in part.parameters()])


def moved(before: Mapping[str, Tensor], model: FineTuned) -> dict[str, float]:
    """How far each part is from where it was, as a share of the length that its weights had together."""
    return {
        name: float((weights_of(part) - before[name]).norm() / before[name].norm())
        for name, part in parts_of(model).items()
    }
