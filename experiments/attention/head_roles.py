"""What each attention head does, measured by where its weight goes.

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

import numpy as np
from numpy.typing import NDArray

from experiments.attention.ablation import all_heads, log_probabilities_hiding
from model.anatomy.structure import Anatomy
from model.files.checkpoint import SHIPPED, WEIGHTS, CheckpointError, broken, in_project
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Head
from model.text.tokenizer import EOS_ID, SOS_ID, SPECIALS, Token
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
NONE = "none of these"
NOTICEABLE = 0.1  # a piece is aligned to a word if its probability falls by at least this part without it

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

    counted = {
        "eos": everywhere(ids == EOS_ID),
        "sos": everywhere(ids == SOS_ID),
        "punctuation": everywhere(np.array([is_punctuation(token) for token in columns])),
    }
    if kind == "cross":
        counted |= {
            "aligned": source_word(aligned),
            "read": source_word([-1, *aligned[:-1]]),  # the first row has read `<sos>`
            "before": source_word(aligned, -1),
            "after": source_word(aligned, 1),
        }
    else:
        counted |= {"itself": neighbour(0), "previous": neighbour(-1), "next": neighbour(1)}
    return {name: counted[name] for name in SHARES[kind]}


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


def evenness(kind: str, weights: Array) -> Array:
    """How evenly each head spreads its weight, from 0 (all of it on one place) to 1 (the same on all).

    The entropy of a row divided by that of equal weights, averaged over the rows that have a choice: the first row of
    masked attention sees one place only. Without such a row it is 0.

    Args:    weights (H,T,S)
    Returns: (H)
    """
    seen = (uniform(kind, *weights.shape[-2:]) > 0).sum(-1)
    chooses = seen > 1
    if not chooses.any():
        return np.zeros(len(weights), dtype=np.float32)
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1)
    return np.asarray((entropy[:, chooses] / np.log(seen[chooses])).mean(-1))


def role(kind: str, held: Mapping[str, float], baseline: Mapping[str, float]) -> str:
    """What a head does, in words: "mostly the next piece", "partly <eos>", or "none of these".

    It is named after the largest of the shares that reach PARTLY and are ABOVE_UNIFORM times the baseline.
    """
    strong = [name for name, share in held.items() if share >= max(PARTLY, ABOVE_UNIFORM * baseline[name])]
    if not strong:
        return NONE
    best = max(strong, key=lambda name: held[name])
    return f"{'mostly' if held[best] >= MOSTLY else 'partly'} {SHARES[kind][best]}"


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

    A piece whose probability never falls by NOTICEABLE of it is aligned to no word: what is written suffices.

    Returns: for each of T labels the `word` of its source tokens, or −1
    """
    words, likely = log_probabilities_hiding(loaded, src, labels)
    fall = likely[0] - likely[1:]  # (words, T)
    enough = fall.max(0) >= -math.log(1 - NOTICEABLE)
    return tuple(words[at] if is_enough else -1 for at, is_enough in zip(fall.argmax(0), enough, strict=True))


@dataclass(frozen=True)
class Measured:
    """The shares of every head over a file of sentences, as `training.measure.heads` wrote them.

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
    with path.open("rb") as file:  # read in small parts: the whole of it would leave its hole in the memory
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_measured(anatomy: Anatomy, folder: Path = SHIPPED) -> Measured:
    """The shares measured for the model in this folder.

    Raises: CheckpointError, naming the file and the repair, if it is missing, damaged, or of other weights
    """
    path = folder / MEASURED
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        measured = Measured(
            file=str(data["data"]["file"]),
            source=str(data["data"]["source"]),
            n_sentences=int(data["sentences"]),
            shares=_checked(data["shares"]),
            baselines=_checked(data["uniform"]),
        )
        wanted = {str(head): SHARES[head.attention].keys() for head in all_heads(anatomy)}
        if {head: row.keys() for head, row in measured.shares.items()} != wanted:
            raise ValueError("it does not hold the shares of every head of this model")
        if {kind: row.keys() for kind, row in measured.baselines.items()} != {k: s.keys() for k, s in SHARES.items()}:
            raise ValueError("it does not hold the baseline of every share")
        measured_on, present = str(data["model"]["sha256"]), fingerprint(folder / WEIGHTS)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken(path, error) from error
    if measured_on != present:
        raise CheckpointError(
            f"{in_project(path)} was measured with other weights than those in {in_project(folder / WEIGHTS)}. "
            "To measure again, run: python -m training.measure.heads TEST.tsv"
        )
    return measured


def _checked(table: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """A table of shares.

    Raises: ValueError, quoting a value that is no share
    """
    for row in table.values():
        for value in row.values():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise ValueError(f"{value!r} is no share between 0 and 1")
    return {name: dict(row) for name, row in table.items()}
