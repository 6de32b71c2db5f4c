"""The course: every lesson in order. A lesson's section is the folder it lies in."""

from importlib import import_module

from ui.course.frame import show
from ui.course.lesson import COURSE, Lesson

ORDER = (
    "inputs.before_attention",
    "inputs.tokenization",
    "inputs.embeddings",
    "inputs.positional_encodings",
    "attention.query_key_value",
    "attention.scaled_dot_product",
    "attention.self_attention",
    "attention.masking",
    "attention.multi_head",
    "attention.encoder_decoder_attention",
    "blocks.feed_forward",
    "blocks.add_and_norm",
    "blocks.encoder",
    "blocks.decoder_and_output",
    "inference.inference",
)


def fill_course() -> None:
    """Hand the lessons to the frame, by section."""
    sections: dict[str, list[Lesson]] = {}
    for place in ORDER:
        section, _, _ = place.partition(".")
        sections.setdefault(section.capitalize(), []).append(import_module(f"pages.{place}").LESSON)
    COURSE.fill(sections, show)


fill_course()
