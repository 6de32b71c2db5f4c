"""The frame of every lesson: questions, the navigation that counts them, and an address full of nonsense."""

import re

import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.pages.kit import assert_sound, markdown, notices, opened
from tests.truth.reading import elements
from ui.course.lesson import COURSE

QUERY_KEY_VALUE = COURSE.lesson("query-key-value")
PARTS_IN_THREE, THREE_MATRICES = 0, 1  # options of the poll there


def answer(app: AppTest, option: int, n: int = 0) -> None:
    """Choose an option of the n-th question with one answer, and have it checked."""
    key = app.radio[n].key
    app.radio[n].set_value(option)
    app.run()
    app.button(key=f"{key}/check").click().run()


def in_the_navigation(app: AppTest, slug: str) -> str:
    (page,) = (p for p in app._registered_pages.values() if p.get("url_pathname") == slug)
    return str(page["page_name"])


def test_the_navigation_counts_an_answer_at_once() -> None:
    app = opened(QUERY_KEY_VALUE.slug)
    assert in_the_navigation(app, QUERY_KEY_VALUE.slug) == "Query, key, value"
    answer(app, THREE_MATRICES)
    assert in_the_navigation(app, QUERY_KEY_VALUE.slug) == "Query, key, value ✓ 1/3"
    answer(app, PARTS_IN_THREE)  # the same question again
    assert in_the_navigation(app, QUERY_KEY_VALUE.slug) == "Query, key, value ✓ 1/3"


def test_only_the_first_answer_counts_but_every_answer_is_judged() -> None:
    app = opened(QUERY_KEY_VALUE.slug)
    answer(app, PARTS_IN_THREE)
    (said,) = app.warning
    assert said.value.startswith(
        "Not quite. Right is “The whole input is multiplied by three different learned matrices”. Nothing"
    )
    answer(app, THREE_MATRICES)
    assert not app.warning
    assert app.success[0].value.startswith("Right. Nothing")
    assert any("0 right of 1 answered" in caption.value for caption in app.caption)


def test_several_right_answers_are_named() -> None:
    app = opened(COURSE.lesson("masking").slug)
    app.checkbox[0].check().run()
    app.button(key=app.checkbox[0].key.removesuffix("/0") + "/check").click().run()
    assert app.warning[0].value.startswith(
        "Not quite. Right are “Their decoders run in parallel only in training” and “Several heads may find"
    )


def test_another_head_takes_no_answer_away() -> None:
    app = opened(QUERY_KEY_VALUE.slug)
    asked = app.radio[1].key
    app.radio[1].set_value(0)
    app.run()
    next(group for group in app.button_group if group.key == "layer").set_value(1).run()
    assert app.radio[1].key == asked
    assert app.radio[1].value == 0
    answer(app, 0, n=1)
    assert len(app.success) + len(app.warning) == 1


def test_another_sentence_asks_anew() -> None:
    app = opened(QUERY_KEY_VALUE.slug)
    asked = app.radio[1].key
    app.radio[1].set_value(0)
    app.text_input(key="sentence").input("A dog sees a cat.").run()
    assert app.radio[1].key != asked
    assert app.radio[1].value is None


@pytest.mark.parametrize("slug", ["query-key-value", "scaled-dot-product", "self-attention", "masking"])
def test_the_address_cannot_break_a_lesson(slug: str) -> None:
    keys = """attention layer head cell part matrices sure stage scale_off hide self_trial noun mask_stage mask_trial
        pads present step""".split()
    values = ("", "0", "-1", "99", "1e9", "NaN", "<b>x", "9" * 500, "٣", "1.1", "true", "[1]")
    repeated = (["1", "2"], ["", ""], ["x", "1"], ["2.2", "99.99"])
    for value in (*values, *repeated):
        opened(COURSE.lesson(slug).slug, **dict.fromkeys(keys, value))


@pytest.mark.parametrize("slug", ["query-key-value", "scaled-dot-product", "self-attention", "masking"])
def test_presenter_mode_shows_one_part_at_a_time(slug: str) -> None:
    parts = ["idea", "see", "do", "predict", "code"]
    app = opened(COURSE.lesson(slug).slug, present="true")
    for n, name in enumerate(parts, 1):
        assert [one.key for one in elements(app.main) if str(getattr(one, "key", "")).startswith("part_")] == [
            f"part_{name}"
        ]
        assert any(f"Part {n} of 5: **{name.capitalize()}**" in text.value for text in app.markdown)
        assert len(app.header) == 0
        if n < len(parts):
            next(button for button in app.button if button.label == "Next").click().run()
            assert not app.exception
    next(button for button in app.button if button.label == "Reset").click().run()
    assert "step" not in app.query_params


HOSTILE = (
    "<img src=x onerror=alert(1)> <b>bold</b>",
    "**b** [x](javascript:alert(1)) # h | a || `c` :red[x] :smile: $\\frac{1}{0}$ $$y$$",
    "</script><script>alert(1)</script>",
    "abc\u202edef\u2066 \u200bzero\u200dwidth\ufeff \x00\x1b[31m",
    "Z\u0337\u0347\u0301a\u0334\u0303lgo " * 3,
    "<eos> <pad> <sos>",
    "ฉันชอบสุนัข",
    "a",
    "w" * 10_000,
)


@pytest.mark.parametrize("sentence", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("slug", ["query-key-value", "scaled-dot-product", "self-attention", "masking"])
def test_any_text_is_taken_and_stays_text(slug: str, sentence: str) -> None:
    app = opened(COURSE.lesson(slug).slug, scale_off="true", mask_trial="Add padding")
    app.text_input(key="sentence").input(sentence).run()
    assert_sound(app)
    assert app.text_input(key="sentence").value == sentence
    said = markdown(app)
    # What would act is escaped.
    assert not re.search(r"<img|<script|\]\(javascript|(?<!\\):red\[", said)
    cut = [text for text in notices(app) if "longer than the model can take" in text]
    assert len(cut) == (len(sentence) > 2000)
