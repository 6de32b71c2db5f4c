"""The course: every lesson in order. A lesson's section is the folder it lies in."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from pages.lesson_page import show
from ui.course.lesson import COURSE, Lesson

# Each with its icon in the navigation, by its name among Material Symbols, a font that Streamlit brings along.
ORDER = {
    "inputs.before_attention": "history",
    "inputs.tokenization": "content_cut",
    "inputs.embeddings": "scatter_plot",
    "inputs.positional_encodings": "format_list_numbered",
    "attention.query_key_value": "key",
    "attention.scaled_dot_product": "grid_on",
    "attention.self_attention": "all_inclusive",
    "attention.masking": "visibility_off",
    "attention.multi_head": "device_hub",
    "attention.encoder_decoder_attention": "sync_alt",
    "blocks.feed_forward": "bolt",
    "blocks.add_and_norm": "add",
    "blocks.encoder": "input",
    "blocks.decoder_and_output": "output",
    "inference.inference": "play_arrow",
    "variants.positions_six_ways": "rotate_right",
    "variants.activations_and_gates": "show_chart",
    "variants.where_to_normalise": "balance",
    "training.how_it_learned": "school",
    "training.train_it_yourself": "model_training",
    "family.three_kinds": "category",
    "family.gpt": "keyboard",
    "family.fill_in_the_blank": "edit_note",
    "family.pairs": "join_inner",
    "family.fine_tuning": "label",
    "family.lora_and_bitfit": "tune",
    "family.one_row": "view_week",
    "family.learning_without_learning": "lightbulb",
    "descendants.read_again": "replay",
    "descendants.student_and_teacher": "supervisor_account",
    "descendants.one_layer": "repeat",
    "descendants.which_was_swapped": "swap_horiz",
    "descendants.torn_text": "healing",
    "descendants.only_what_is_missing": "content_cut",
    "descendants.rule_or_by_heart": "calculate",
    "descendants.a_larger_one": "trending_up",
    "beyond_attention.price_of_attention": "payments",
    "beyond_attention.fewer_pairs": "filter_alt",
    "beyond_attention.smaller_memory": "compress",
    "beyond_attention.without_attention": "water",
    "beyond_attention.some_parameters": "group_work",
    "beyond_text.a_picture_as_words": "grid_view",
    "beyond_text.windows_that_shift": "window",
    "beyond_text.sound_in_strips": "graphic_eq",
    "beyond_text.pictures_from_text": "brush",
    "beyond_text.pictures_meet_words": "join",
    "beyond_text.what_is_a_token": "token",
}


def fill_course() -> None:
    """Hand the lessons to the frame, by section."""
    sections: dict[str, list[tuple[Lesson, str]]] = {}
    for place, icon in ORDER.items():
        section, _, _ = place.partition(".")
        sections.setdefault(section.replace("_", " ").capitalize(), []).append(
            (import_module(f"pages.{place}").LESSON, icon)
        )
    COURSE.fill(sections, page_of)


def page_of(lesson: Lesson) -> Callable[[], None]:
    """The function that draws a lesson, under a name of its own, by which Streamlit tells pages apart."""

    page = partial(show, lesson)
    page.__name__ = lesson.slug.replace("-", "_")  # type: ignore[attr-defined]
    return page


fill_course()
