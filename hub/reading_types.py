"""What is known of an open model and of a sentence that it read: plain data, which crosses from worker to app."""

from dataclasses import dataclass
from typing import Literal

from hub.attention import AttentionMaps

Kind = Literal["encoder", "decoder", "encoder-decoder"]

MAX_WRITTEN = 48  # tokens that a model may write
MAX_TEXT = 60  # characters of a token that are shown


def shortened(text: str, most: int = MAX_TEXT) -> str:
    """A text of at most so many characters: what is longer ends in …"""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class ModelFacts:
    """What is known of an open model.

    model_type:   its architecture, as its configuration names it
    n_parameters: its numbers, without those of an output layer that the files do not hold
    longest:      how many tokens it can read at most, hub.hugging_face.MAX_TOKENS or fewer
    mask_token:   what an encoder reads where a token is covered; None if it has no such token
    predicts:     whether the files hold the weights of the output layer, which turns vectors into predictions
    """

    kind: Kind
    model_type: str
    n_parameters: int
    longest: int
    mask_token: str | None
    predicts: bool

    @property
    def can_guess(self) -> bool:
        """Whether a token can be covered and guessed."""
        return self.kind == "encoder" and self.predicts and self.mask_token is not None


@dataclass(frozen=True)
class Prediction:
    """A token that may stand in one place, and its probability."""

    text: str
    probability: float


@dataclass(frozen=True)
class Covered:
    """A token that was covered: its text, the probability that the model gives it, and its rank, from 1, among all."""

    text: str
    probability: float
    rank: int
    among: int


@dataclass(frozen=True)
class Reading:
    """What a model did with one sentence.

    tokens:      of the sentence, with special tokens; n_cut: how many more there were than the model or the page takes
    maps:        attention of every layer and head, one entry for each kind
    predicted:   what is predicted, in words; "" if nothing is
    predictions: the likeliest tokens for it, likeliest first
    written:     what an encoder-decoder writes for the sentence, or how a decoder continues it
    covered:     the token that the visitor covered, if any
    """

    tokens: tuple[str, ...]
    n_cut: int
    maps: tuple[AttentionMaps, ...]
    predicted: str
    predictions: tuple[Prediction, ...]
    written: str
    covered: Covered | None = None
