"""What the map says of each kind of block; `plan` fills in every {…} from the model's anatomy."""

from typing import NamedTuple


class Words(NamedTuple):
    """The texts of one kind of block.

    colour: which of the map's colours it has; with it goes its height
    name:   what the line below the map and a screen reader call it
    label:  what stands in the drawing
    does:   what it does, in one plain sentence
    """

    colour: str
    name: str
    label: str
    does: str


SUM = "Adds {what} to what was there before"

WORDS = {
    "tokens": Words("tokens", "Tokenization", "", "Cuts text into pieces that the model knows by number; {reads}."),
    "embedding": Words(
        "embedding",
        "{Stack} token embedding",
        "Token embedding",
        "Looks up the learned vector of every {piece_so_far}.",
    ),
    "sinusoid": Words(
        "positions",
        "{Stack} positions",
        "+ Positions",
        "Adds to every vector a pattern of waves that tells its place in the {whole}.",
    ),
    "positions": Words(
        "positions",
        "{Stack} positions",
        "+ Positions",
        "Adds to every vector another one that tells its place in the {whole}.",
    ),
    "self": Words(
        "attention",
        "{Stack} self-attention",
        "Self-attention",
        "Every {piece} gathers what it needs from all pieces of the {whole}.",
    ),
    "masked": Words(
        "attention",
        "{Stack} masked self-attention",
        "Masked self-attention",
        "Every {piece} gathers from itself and the pieces before it, never from those that follow.",
    ),
    "cross": Words(
        "attention",
        "{Other}-{stack} attention",
        "{Other}-{stack} attention",
        "Every {piece} asks with its query; the {other}'s {other_piece}s answer with keys and values.",
    ),
    "feed_forward": Words(
        "feed_forward",
        "{Stack} feed-forward",
        "Feed-forward",
        "Works on every vector by itself with a small network of two layers.",
    ),
    "add_norm": Words(
        "norm",
        "{Stack} add & norm after {sublayer}",
        "Add & norm",
        SUM + ", and brings every vector back to one scale.",
    ),
    "norm": Words(
        "norm",
        "{Stack} norm before {sublayer}",
        "Norm",
        "Brings every vector to one scale before the next block reads it.",
    ),
    "norm_after": Words(
        "norm", "{Stack} norm after {sublayer}", "Norm", "Brings {what} to one scale before it is added."
    ),
    "add": Words("add", "{Stack} add after {sublayer}", "Add", SUM + "."),
    "stack": Words(
        "stack",
        "{Stack}, {layers}",
        "{Stack} ×{n}",
        "Runs {layers} of this build one after the other{then}.",
    ),
    "last_norm": Words("norm", "Last norm", "Norm", "Brings every vector to one scale a last time."),
    "head": Words(
        "feed_forward", "Head", "Head", "Makes of every vector one that can be compared with the vocabulary."
    ),
    "tied": Words(
        "linear",
        "Linear output",
        "Linear (tied)",
        "Compares every vector with the embedding of each vocabulary entry: one score for each.",
    ),
    "linear": Words("linear", "Linear output", "Linear", "Makes one score for each vocabulary entry of every vector."),
    "softmax": Words(
        "softmax",
        "Softmax",
        "Softmax",
        "Turns the scores into probabilities; the next piece of the {output} is chosen by them.",
    ),
}
# What a sub-layer is called within a sentence, and what it adds to what was there before.
SUBLAYERS = {
    "self": ("self-attention", "what was gathered"),
    "masked": ("self-attention", "what was gathered"),
    "cross": ("{other}-{stack} attention", "what was read from the {other}"),
    "feed_forward": ("feed-forward", "the network's result"),
}
