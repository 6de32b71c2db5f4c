"""The blocks of the map: their names, what they do, and the tensor each is shown by."""

from dataclasses import dataclass
from typing import Literal

Picture = Literal["", "values", "weights", "peaks", "bars"]


@dataclass(frozen=True)
class Block:
    """One block of the map.

    id:      its name in links and lessons
    name:    what the line below the map and a screen reader call it; {n} is the number of layers
    label:   what stands in the drawing; {n} likewise
    short:   the label of the small map
    does:    what it does, in one plain sentence
    tensor:  the tensor it is shown by, {last} being the last layer; "" for none
    picture: how that tensor is made small
    """

    id: str
    name: str
    label: str
    short: str
    does: str
    tensor: str = ""
    picture: Picture = ""

    @property
    def repeated(self) -> bool:
        """Whether every layer has one, of which the last layer's is shown."""
        return "{last}" in self.tensor


BLOCKS = (
    Block(
        "tokenize",
        "Tokenization",
        "",
        "",
        "Cuts text into pieces that the model knows by number; the decoder reads what is written so far, after <sos>.",
    ),
    Block(
        "encoder.embedding",
        "Encoder token embedding",
        "Token embedding",
        "Embedding",
        "Looks up the learned vector of every English piece.",
        "encoder.embedding.scaled",
        "values",
    ),
    Block(
        "encoder.positions",
        "Encoder positions",
        "+ Positions",
        "+ Positions",
        "Adds to every vector a pattern of waves that tells its place in the sentence.",
        "encoder.embedding.positions",
        "values",
    ),
    Block(
        "encoder.self_attn",
        "Encoder self-attention",
        "Self-attention",
        "Self-attention",
        "Every English piece gathers what it needs from all pieces of the sentence.",
        "encoder.layers.{last}.self_attn.weights",
        "weights",
    ),
    Block(
        "encoder.add_norm_1",
        "Encoder add & norm after self-attention",
        "Add & norm",
        "Add & norm",
        "Adds what was gathered to what was there before, and brings every vector back to one scale.",
        "encoder.layers.{last}.add_norm_1.output",
        "values",
    ),
    Block(
        "encoder.feed_forward",
        "Encoder feed-forward",
        "Feed-forward",
        "Feed-forward",
        "Works on every vector by itself with a small network of two layers.",
        "encoder.layers.{last}.feed_forward.output",
        "values",
    ),
    Block(
        "encoder.add_norm_2",
        "Encoder add & norm after feed-forward",
        "Add & norm",
        "Add & norm",
        "Adds the network's result to what was there before, and brings every vector back to one scale.",
        "encoder.layers.{last}.add_norm_2.output",
        "values",
    ),
    Block(
        "encoder.stack",
        "Encoder, {n} layers",
        "Encoder ×{n}",
        "Enc ×{n}",
        "Runs {n} layers of this build one after the other; the decoder reads what the last one returns.",
        "encoder.layers.{last}.add_norm_2.output",
    ),
    Block(
        "decoder.embedding",
        "Decoder token embedding",
        "Token embedding",
        "Embedding",
        "Looks up the learned vector of every German piece written so far.",
        "decoder.embedding.scaled",
        "values",
    ),
    Block(
        "decoder.positions",
        "Decoder positions",
        "+ Positions",
        "+ Positions",
        "Adds to every vector a pattern of waves that tells its place in the translation.",
        "decoder.embedding.positions",
        "values",
    ),
    Block(
        "decoder.self_attn",
        "Decoder masked self-attention",
        "Masked self-attention",
        "Masked self-attention",
        "Every German piece gathers from itself and the pieces before it, never from those that follow.",
        "decoder.layers.{last}.self_attn.weights",
        "weights",
    ),
    Block(
        "decoder.add_norm_1",
        "Decoder add & norm after self-attention",
        "Add & norm",
        "Add & norm",
        "Adds what was gathered to what was there before, and brings every vector back to one scale.",
        "decoder.layers.{last}.add_norm_1.output",
        "values",
    ),
    Block(
        "decoder.cross_attn",
        "Encoder-decoder attention",
        "Encoder-decoder attention",
        "Enc-dec attention",
        "Every German piece asks with its query; the encoder's English pieces answer with keys and values.",
        "decoder.layers.{last}.cross_attn.weights",
        "weights",
    ),
    Block(
        "decoder.add_norm_2",
        "Decoder add & norm after encoder-decoder attention",
        "Add & norm",
        "Add & norm",
        "Adds what was read from the encoder to what was there before, and brings every vector back to one scale.",
        "decoder.layers.{last}.add_norm_2.output",
        "values",
    ),
    Block(
        "decoder.feed_forward",
        "Decoder feed-forward",
        "Feed-forward",
        "Feed-forward",
        "Works on every vector by itself with a small network of two layers.",
        "decoder.layers.{last}.feed_forward.output",
        "values",
    ),
    Block(
        "decoder.add_norm_3",
        "Decoder add & norm after feed-forward",
        "Add & norm",
        "Add & norm",
        "Adds the network's result to what was there before, and brings every vector back to one scale.",
        "decoder.layers.{last}.add_norm_3.output",
        "values",
    ),
    Block(
        "decoder.stack",
        "Decoder, {n} layers",
        "Decoder ×{n}",
        "Dec ×{n}",
        "Runs {n} layers of this build one after the other; each of them reads the encoder's result.",
        "decoder.layers.{last}.add_norm_3.output",
    ),
    Block(
        "output.linear",
        "Linear output",
        "Linear (tied)",
        "Linear (tied)",
        "Compares every vector with the embedding of each vocabulary entry: one score for each.",
        "logits",
        "peaks",
    ),
    Block(
        "output.softmax",
        "Softmax",
        "Softmax",
        "Softmax",
        "Turns the scores into probabilities; the next piece of the translation is chosen by them.",
        "probabilities",
        "bars",
    ),
)
