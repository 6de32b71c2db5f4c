"""What each attention head does, measured: where its weight goes, and what the translation loses without it.

A share is how much of a head's weight falls on certain columns, averaged over all rows. A row that has no such column
(the first piece has none before it) counts as 0. Shares overlap, because the next piece may be a comma, so they need
not add up to 1. What equal weights would give on the same sentence is the baseline to compare with.

What a row is about:
    encoder  row i is source piece i; "previous" and "next" are its neighbours in the sentence
    decoder  row i has just read target piece i (and will write piece i + 1); "itself" is the piece just read,
             "previous" the one before; the causal mask hides every next piece, so there is no such share
    cross    row i is about target piece i + 1, which it will write; "aligned" is the source word of that piece,
             "before" and "after" are the source words next to it, and "read" is the source word of piece i, which it
             has just read (words, not positions; see `aligned_words`)
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.anatomy import Anatomy
from model.checkpoint import SHIPPED, WEIGHTS, CheckpointError, broken, in_project
from model.interventions import Head
from model.loaded import Array, LoadedModel
from model.tap import Tap
from model.tokenizer import EOS_ID, SOS_ID, SPECIALS, Token
from model.trace import Trace

# The shares of each kind of attention, and what they count, in words.
SHARES = {
    "encoder": {
        "previous": "the previous piece",
        "itself": "the piece itself",
        "next": "the next piece",
        "eos": "<eos>",
        "punctuation": "punctuation",
    },
    "decoder": {
        "previous": "the piece before the last",
        "itself": "the last piece read",
        "sos": "<sos>",
        "punctuation": "punctuation",
    },
    "cross": {
        "aligned": "the aligned word",
        "read": "the word behind the last piece read",
        "before": "the word before the aligned one",
        "after": "the word after the aligned one",
        "eos": "<eos>",
        "punctuation": "punctuation",
    },
}
MOSTLY, PARTLY = 0.5, 0.25  # shares from which a head is called after what it looks at
ABOVE_UNIFORM = 1.5  # and as many times what equal weights would give
SPREAD = "spread out"
NOTICEABLE = 0.1  # a piece is aligned to a word if its probability falls by at least this part without it
BATCH = 16  # changed copies of a sentence that run through the model at once

MEASURED = "heads.json"


def places(
    kind: str, rows: Sequence[Token], columns: Sequence[Token], aligned: Sequence[int] = ()
) -> dict[str, NDArray[np.bool_]]:
    """Which columns each share of one kind of attention counts.

    Args:    rows T and columns S tokens of the map; aligned, for "cross": the source words of the T pieces about to
             be written, −1 for none
    Returns: by the share's name, (T,S), True = counts
    """
    t, s = len(rows), len(columns)
    ids, word = np.array([token.id for token in columns]), np.array([token.word for token in columns])

    def neighbour(step: int) -> NDArray[np.bool_]:
        return np.eye(t, s, k=step, dtype=bool)

    def source_word(of: Sequence[int], step: int = 0) -> NDArray[np.bool_]:
        to = np.array(of)[:, None]
        return (to >= 0) & (word >= 0) & (word == to + step)

    def everywhere(counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.tile(counts, (t, 1))

    found = {
        "eos": everywhere(ids == EOS_ID),
        "sos": everywhere(ids == SOS_ID),
        "punctuation": everywhere(np.array([is_punctuation(token) for token in columns])),
    }
    if kind == "cross":
        found |= {
            "aligned": source_word(aligned),
            "read": source_word([-1, *aligned[:-1]]),  # the first row has read `<sos>`
            "before": source_word(aligned, -1),
            "after": source_word(aligned, 1),
        }
    else:
        found |= {"itself": neighbour(0), "previous": neighbour(-1), "next": neighbour(1)}
    return {name: found[name] for name in SHARES[kind]}


def is_punctuation(token: Token) -> bool:
    """Whether a piece is made of punctuation marks alone (Unicode categories P…); special tokens are not."""
    return (
        token.id >= len(SPECIALS)
        and not token.text.isspace()
        and all(unicodedata.category(sign).startswith("P") for sign in token.text)
    )


def shares(weights: Array, counted: Mapping[str, NDArray[np.bool_]]) -> dict[str, Array]:
    """The share of each head's weight that falls on each kind of place.

    Args:    weights (…,T,S); counted: places (T,S) by name
    Returns: (…) by name, each between 0 and 1
    """
    return {name: (weights * columns).sum(-1).mean(-1) for name, columns in counted.items()}


def uniform(kind: str, n_rows: int, n_columns: int) -> Array:
    """Weights (T,S) of a head without preferences: each row gives the same to all that it may see."""
    seen = np.tri(n_rows, n_columns) if kind == "decoder" else np.ones((n_rows, n_columns))
    return (seen / seen.sum(-1, keepdims=True)).astype(np.float32)


def role(kind: str, found: Mapping[str, float], baseline: Mapping[str, float]) -> str:
    """What a head does, in words: "mostly the next piece", "partly <eos>", or "spread out".

    It is named after the largest of the shares that reach PARTLY and are ABOVE_UNIFORM times the baseline.
    """
    strong = [name for name in found if found[name] >= max(PARTLY, ABOVE_UNIFORM * baseline[name])]
    if not strong:
        return SPREAD
    best = max(strong, key=lambda name: found[name])
    return f"{'mostly' if found[best] >= MOSTLY else 'partly'} {SHARES[kind][best]}"


def head_places(trace: Trace, kind: str, aligned: Sequence[int] = ()) -> dict[str, NDArray[np.bool_]]:
    """`places` for one kind of attention of a trace."""
    match kind:
        case "encoder":
            return places(kind, trace.src, trace.src)
        case "decoder":
            return places(kind, trace.tgt, trace.tgt)
        case _:
            return places(kind, trace.labels, trace.src, aligned)


def aligned_words(loaded: LoadedModel, src: Sequence[Token], labels: Sequence[Token]) -> tuple[int, ...]:
    """The source word behind each target piece: the one without which the piece becomes least likely.

    A piece whose probability never falls by NOTICEABLE of it is aligned to no word: the German alone suffices for it.

    Returns: for each of T labels the `word` of its source tokens, or −1
    """
    words, found = log_probabilities_hiding(loaded, src, labels)
    fall = found[0] - found[1:]  # (words, T)
    enough = fall.max(0) >= -math.log(1 - NOTICEABLE)
    return tuple(words[at] if is_enough else -1 for at, is_enough in zip(fall.argmax(0), enough, strict=True))


@torch.inference_mode()
def log_probabilities_hiding(
    loaded: LoadedModel, src: Sequence[Token], labels: Sequence[Token], words: Sequence[int] | None = None
) -> tuple[tuple[int, ...], Array]:
    """How likely each target piece stays, in nats, with each of these source words, by default all, hidden in turn.

    Nobody may attend to the hidden word's pieces, in no layer, and the target is read by teacher forcing.

    Returns: the `word` of N source words; (N + 1, T), first with all words, then without each
    """
    words = tuple(sorted({token.word for token in src} - {-1}) if words is None else words)
    ids, targets = [token.id for token in src], [token.id for token in labels]
    hidden = torch.tensor([[False] * len(src), *[[token.word == word for token in src] for word in words]])
    found = []
    for some in hidden.to(loaded.device.torch).split(BATCH):

        def hide(name: str, value: Tensor, some: Tensor = some) -> Tensor:
            """Row b of the batch does without what row b of `some` (B,S) names."""
            return value & ~some[:, None, None, :] if name in ("encoder.mask", "decoder.memory_mask") else value

        found.append(_log_probabilities(loaded, ids, targets, len(some), hide))
    return words, torch.cat(found).cpu().numpy()


@torch.inference_mode()
def log_probabilities_without(
    loaded: LoadedModel, src: Sequence[int], labels: Sequence[int], heads: Sequence[Head]
) -> Array:
    """How likely each target piece stays, in nats, with each of these heads switched off on its own.

    Args:    src (S) ids, `<eos>` last; labels (T) ids, read by teacher forcing; heads: N of them
    Returns: (N,T), row n without head n
    """
    paths = {head: loaded.anatomy.attention(head.attention, head.layer).path for head in heads}
    found = []
    for start in range(0, len(heads), BATCH):
        some = heads[start : start + BATCH]

        def switch_off(name: str, value: Tensor, some: Sequence[Head] = some) -> Tensor:
            """Row b of the batch does without the b-th of `some`."""
            rows = [(b, head.head) for b, head in enumerate(some) if name == f"{paths[head]}.heads"]
            if rows:
                value = value.clone()
                for b, head in rows:
                    value[b, head] = 0
            return value

        in_encoder = any(head.attention == "encoder" for head in some)
        found.append(_log_probabilities(loaded, src, labels, len(some), switch_off, encode_once=not in_encoder))
    return torch.cat(found).cpu().numpy()


def _log_probabilities(
    loaded: LoadedModel, src: Sequence[int], labels: Sequence[int], n: int, tap: Tap, encode_once: bool = False
) -> Tensor:
    """(n,T) in nats: each label given those before it, in n copies of one sentence that the tap tells apart.

    encode_once: the tap changes nothing in the encoder, so all copies read the memory of one
    """
    device = loaded.device.torch
    src_ids, tgt_ids = (torch.tensor([[*ids]] * n, device=device) for ids in (src, [SOS_ID, *labels[:-1]]))
    memory = loaded.model.encode(src_ids[:1] if encode_once else src_ids, tap).expand(n, -1, -1)
    logits = loaded.model.decode(tgt_ids, memory, src_ids, tap)  # (n,T,V)
    of_labels = logits[:, range(len(labels)), list(labels)]
    return of_labels - logits.logsumexp(-1)


def probabilities_hiding(
    loaded: LoadedModel, src: tuple[Token, ...], labels: tuple[Token, ...]
) -> tuple[tuple[int, ...], Array]:
    """The `word` of N source words; each label's probability (N + 1, T), first with all words, then without each."""
    words, log_probabilities = log_probabilities_hiding(loaded, src, labels)
    return words, np.exp(log_probabilities)


def many_runs(experiment: Any) -> None:
    """Mark an experiment that runs the model dozens of times: the engine gives it every core."""
    experiment.many_runs = True


for _experiment in (aligned_words, log_probabilities_hiding, log_probabilities_without, probabilities_hiding):
    many_runs(_experiment)


def all_heads(anatomy: Anatomy) -> list[Head]:
    """Every head of a model, by attention, layer and head."""
    return [
        Head(kind, layer, head)
        for kind, attentions in anatomy.attentions.items()
        for layer, attention in enumerate(attentions)
        for head in range(attention.n_heads)
    ]


@dataclass(frozen=True)
class Measured:
    """The shares of every head over a file of sentences, as `training.heads` wrote them.

    file:      the file's name; source: where its sentences come from; n_sentences: how many were read
    shares:    by head as it is written (`cross.2.1`) and name
    baselines: what equal weights give on the same sentences, by kind of attention and name
    """

    file: str
    source: str
    n_sentences: int
    shares: Mapping[str, Mapping[str, float]]
    baselines: Mapping[str, Mapping[str, float]]

    def role(self, head: Head) -> str:
        """What a head does, in words."""
        return role(head.attention, self.shares[str(head)], self.baselines[head.attention])


def fingerprint(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load_measured(anatomy: Anatomy, folder: Path = SHIPPED) -> Measured:
    """The shares measured for the model in this folder.

    Raises: CheckpointError, naming the file and the repair, if it is missing, damaged, or of other weights
    """
    path = folder / MEASURED
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = Measured(
            file=str(data["data"]["file"]),
            source=str(data["data"]["source"]),
            n_sentences=int(data["sentences"]),
            shares=_checked(data["shares"]),
            baselines=_checked(data["uniform"]),
        )
        wanted = {str(head): SHARES[head.attention].keys() for head in all_heads(anatomy)}
        if {head: row.keys() for head, row in found.shares.items()} != wanted:
            raise ValueError("it does not hold the shares of every head of this model")
        if {kind: row.keys() for kind, row in found.baselines.items()} != {k: s.keys() for k, s in SHARES.items()}:
            raise ValueError("it does not hold the baseline of every share")
        measured_on, present = str(data["model"]["sha256"]), fingerprint(folder / WEIGHTS)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken(path, error) from error
    if measured_on != present:
        raise CheckpointError(
            f"{in_project(path)} was measured with other weights than those in {in_project(folder / WEIGHTS)}. "
            "To measure again, run: python -m training.heads TEST.tsv"
        )
    return found


def _checked(table: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """A table of shares.

    Raises: ValueError, quoting a value that is no share
    """
    for row in table.values():
        for value in row.values():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise ValueError(f"{value!r} is no share between 0 and 1")
    return {name: dict(row) for name, row in table.items()}
