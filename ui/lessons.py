"""The course: which lessons there are, in which order, and which block of the map each explains."""

from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parent.parent / "pages"


@dataclass(frozen=True)
class Lesson:
    """One page of the course.

    slug:    its address, and the name of its file (with _ for -)
    asks:    the question it answers, for a learner who has not read it
    blocks:  the blocks of the map that it explains (see ui.components.architecture)
    n_questions: how many questions its Predict part asks
    """

    slug: str
    title: str
    section: str
    asks: str
    blocks: tuple[str, ...]
    n_questions: int

    @property
    def file(self) -> Path:
        return PAGES / self.section.lower() / f"{self.slug.replace('-', '_')}.py"


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
        ("decoder.cross_attn",),
        3,
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
