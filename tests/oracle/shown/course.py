"""The course as it must be: its order, its titles, the question each lesson answers, and what opens it on the map."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A lesson's place.

    opens: blocks of the map that lead to it; plays: what the stage beside it plays; near: what that ends in
    """

    section: str
    slug: str
    title: str
    asks: str
    opens: str = ""
    plays: str = ""
    near: str = ""


SELF = "encoder.self_attn"
COURSE = (
    Place("Inputs", "before-attention", "Before attention", "How far does the first word still move the end?"),
    Place("Inputs", "tokenization", "Tokenization", "How does a sentence become numbers?", "tokenize", "pieces"),
    Place(
        "Inputs",
        "embeddings",
        "Embeddings",
        "How does a number become a meaning?",
        "encoder.embedding decoder.embedding",
        "encoder.embedding",
    ),
    Place(
        "Inputs",
        "positional-encodings",
        "Positional encodings",
        "How does the model know which word comes first?",
        "encoder.positions decoder.positions",
        "encoder.positions",
    ),
    Place(
        "Attention",
        "query-key-value",
        "Query, key, value",
        "What does a piece ask, and what does it offer?",
        plays=SELF,
        near="project",
    ),
    Place(
        "Attention",
        "scaled-dot-product",
        "Scaled dot-product",
        "How does a piece decide what to look at?",
        plays=SELF,
        near="score",
    ),
    Place(
        "Attention",
        "self-attention",
        "Self-attention",
        "What happens when a sentence looks at itself?",
        SELF,
        SELF,
        "mix",
    ),
    Place(
        "Attention",
        "masking",
        "Masking",
        "How is the decoder kept from seeing the future?",
        "decoder.self_attn",
        "masked",
        "mask",
    ),
    Place(
        "Attention",
        "multi-head",
        "Multi-head attention",
        "Why several heads, and what does each of them look at?",
        plays=SELF,
        near="heads",
    ),
    Place(
        "Attention",
        "encoder-decoder-attention",
        "Encoder-decoder attention",
        "How does the German know what the English says?",
        "decoder.cross_attn",
        "reading",
        "read",
    ),
    Place(
        "Blocks",
        "feed-forward",
        "Feed-forward",
        "What happens to a piece once it has gathered what it needs?",
        "encoder.feed_forward decoder.feed_forward",
        "encoder.feed_forward",
        "widen",
    ),
    Place(
        "Blocks",
        "add-and-norm",
        "Add & Norm",
        "Why is the input added back, and what is normalised?",
        "encoder.add_norm_1 encoder.add_norm_2 decoder.add_norm_1 decoder.add_norm_2 decoder.add_norm_3",
        SELF,
        "norm",
    ),
    Place(
        "Blocks",
        "encoder",
        "Encoder",
        "What does a word become once it has read its sentence?",
        "encoder.stack",
        "encoder",
    ),
    Place(
        "Blocks",
        "decoder-and-output",
        "Decoder and output",
        "How does a vector become the next word?",
        "decoder.stack output.linear output.softmax",
        "choice",
    ),
    Place(
        "Inference",
        "inference",
        "Inference",
        "How does the model write, one piece at a time?",
        plays="writing",
    ),
    Place(
        "Variants",
        "positions-six-ways",
        "Positions, six ways",
        "Move the whole sentence. Who notices?",
    ),
    Place(
        "Variants",
        "activations-and-gates",
        "Activations and gates",
        "What does the curve let through?",
    ),
    Place(
        "Variants",
        "where-to-normalise",
        "Where to normalise, and how",
        "One small step: how far does a deep stack sway?",
    ),
    Place(
        "Training",
        "how-it-learned",
        "How it learned",
        "When did it know?",
    ),
    Place(
        "Training",
        "train-it-yourself",
        "Train it yourself",
        "Can you make it write your letters backwards?",
    ),
    Place(
        "Family",
        "three-kinds",
        "Three kinds of model",
        "Who may look where?",
    ),
    Place("Family", "gpt", "GPT", "What surprises it, and how does it go on?"),
    Place(
        "Family",
        "fill-in-the-blank",
        "BERT: fill in the blank",
        "Which word told it?",
    ),
    Place("Family", "pairs", "BERT: pairs", "Does B follow A?"),
    Place(
        "Family",
        "fine-tuning",
        "Pre-train, then fine-tune",
        "What does a model know before it has seen one labelled sentence?",
        plays="encoder",
    ),
    Place(
        "Family",
        "lora-and-bitfit",
        "LoRA and BitFit",
        "How does a trained model learn something new with few new numbers?",
        plays=SELF,
        near="project",
    ),
    Place(
        "Family",
        "learning-without-learning",
        "Learning without learning",
        "Can it find your rule while it reads?",
    ),
)


def place(slug: str) -> Place:
    for one in COURSE:
        if one.slug == slug:
            return one
    raise KeyError(
        f"{slug} has no Place in tests/oracle/shown/course.py: list it in its order, as the navigation shows it"
    )
