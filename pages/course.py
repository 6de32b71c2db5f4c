"""The course: every lesson in order. A lesson's section is the folder it lies in."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from pages.lesson_page import show
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
    "variants.positions_six_ways",
    "variants.activations_and_gates",
    "variants.where_to_normalise",
    "training.how_it_learned",
    "training.train_it_yourself",
    "family.three_kinds",
    "family.gpt",
    "family.fill_in_the_blank",
    "family.pairs",
    "family.fine_tuning",
    "family.lora_and_bitfit",
    "family.one_row",
    "family.learning_without_learning",
    "descendants.read_again",
    "descendants.student_and_teacher",
    "descendants.one_layer",
    "descendants.which_was_swapped",
    "descendants.torn_text",
    "descendants.only_what_is_missing",
    "descendants.rule_or_by_heart",
    "descendants.a_larger_one",
    "beyond_attention.price_of_attention",
    "beyond_attention.fewer_pairs",
    "beyond_attention.smaller_memory",
    "beyond_attention.without_attention",
    "beyond_attention.some_parameters",
    "beyond_text.a_picture_as_words",
    "beyond_text.windows_that_shift",
    "beyond_text.sound_in_strips",
    "beyond_text.pictures_from_text",
    "beyond_text.pictures_meet_words",
    "beyond_text.what_is_a_token",
)


def fill_course() -> None:
    """Hand the lessons to the frame, by section."""
    sections: dict[str, list[Lesson]] = {}
    for place in ORDER:
        section, _, _ = place.partition(".")
        sections.setdefault(section.replace("_", " ").capitalize(), []).append(import_module(f"pages.{place}").LESSON)
    COURSE.fill(sections, page_of)


def page_of(lesson: Lesson) -> Callable[[], None]:
    """The function that draws a lesson, under a name of its own, by which Streamlit tells pages apart."""

    page = partial(show, lesson)
    page.__name__ = lesson.slug.replace("-", "_")  # type: ignore[attr-defined]
    return page


fill_course()
