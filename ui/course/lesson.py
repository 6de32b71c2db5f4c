"""The course: which lessons there are, in which order, and which block of the map each explains."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

PAGES = Path(__file__).parents[2] / "pages"


@dataclass(frozen=True)
class Lesson:
    """One page of the course.

    slug:    its address, and the name of its file (with _ for -)
    asks:    the question it answers, for a learner who has not read it
    blocks:  the blocks of the map that open it (see ui.components.architecture)
    n_questions: how many questions its Predict part asks
    lit:     the blocks lit while one reads it, if not the same
    """

    slug: str
    title: str
    section: str
    asks: str
    blocks: tuple[str, ...]
    n_questions: int
    lit: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        place = PAGES / self.section.lower() / self.slug.replace("-", "_")
        return place / "lesson.py" if place.is_dir() else place.with_suffix(".py")


ALL_ATTENTION = ("encoder.self_attn", "decoder.self_attn", "decoder.cross_attn")

LESSONS = (
    Lesson("tokenization", "Tokenization", "Inputs", "How does a sentence become numbers?", ("tokenize",), 3),
    Lesson(
        "embeddings",
        "Embeddings",
        "Inputs",
        "How does a number become a meaning?",
        ("encoder.embedding", "decoder.embedding"),
        3,
    ),
    Lesson(
        "positional-encodings",
        "Positional encodings",
        "Inputs",
        "How does the model know which word comes first?",
        ("encoder.positions", "decoder.positions"),
        3,
    ),
    Lesson(
        "query-key-value", "Query, key, value", "Attention", "What does a piece ask, and what does it offer?", (), 3
    ),
    Lesson(
        "scaled-dot-product",
        "Scaled dot-product",
        "Attention",
        "How does a piece decide what to look at?",
        (),
        3,
        lit=ALL_ATTENTION,
    ),
    Lesson(
        "self-attention",
        "Self-attention",
        "Attention",
        "What happens when a sentence looks at itself?",
        ("encoder.self_attn",),
        3,
    ),
    Lesson(
        "masking",
        "Masking",
        "Attention",
        "How is the decoder kept from seeing the future?",
        ("decoder.self_attn",),
        3,
    ),
    Lesson(
        "multi-head",
        "Multi-head attention",
        "Attention",
        "Why several heads, and what does each of them do?",
        (),
        3,
        lit=ALL_ATTENTION,
    ),
    Lesson(
        "encoder-decoder-attention",
        "Encoder-decoder attention",
        "Attention",
        "How does the German know what the English says?",
        ("decoder.cross_attn",),
        3,
    ),
    Lesson(
        "feed-forward",
        "Feed-forward",
        "Blocks",
        "What happens to a piece once it has gathered what it needs?",
        ("encoder.feed_forward", "decoder.feed_forward"),
        3,
    ),
    Lesson(
        "add-and-norm",
        "Add & Norm",
        "Blocks",
        "Why is the input added back, and what is normalised?",
        ("encoder.add_norm_1", "encoder.add_norm_2", "decoder.add_norm_1", "decoder.add_norm_2", "decoder.add_norm_3"),
        3,
    ),
    Lesson(
        "encoder",
        "Encoder",
        "Blocks",
        "What does a word become once it has read its sentence?",
        ("encoder.stack",),
        3,
    ),
    Lesson(
        "decoder-and-output",
        "Decoder and output",
        "Blocks",
        "How does a vector become the next word?",
        ("decoder.stack", "output.linear", "output.softmax"),
        3,
    ),
    Lesson(
        "inference",
        "Inference",
        "Inference",
        "How does the model write, one piece at a time?",
        (),
        4,
        lit=("decoder.embedding", "decoder.stack", "output.softmax"),
    ),
)


def lesson(slug: str) -> Lesson:
    """The lesson with this slug.

    Raises: KeyError
    """
    return {lesson.slug: lesson for lesson in LESSONS}[slug]


def neighbours(current: Lesson) -> tuple[Lesson | None, Lesson | None]:
    """The lessons before and after this one."""
    at = LESSONS.index(current)
    return LESSONS[at - 1] if at else None, LESSONS[at + 1] if at + 1 < len(LESSONS) else None


def page_of(item: Lesson, title: str = "") -> Page:
    """A lesson as a page of the navigation; its title there may differ from visitor to visitor."""
    return st.Page(item.file, title=title or item.title, url_path=item.slug)
