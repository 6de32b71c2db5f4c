"""The frame of every lesson: questions, progress, presenter mode, and an address full of nonsense."""

import re
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest
from streamlit.testing.v1 import AppTest

from classroom.polls import checked
from model.families import readers
from model.files.checkpoint import CheckpointError
from pages.classes.questions import as_asked
from pages.lesson_page import model_of
from tests.course import LESSONS
from tests.pages.kit import ROOT, ROUTER, elements, go_to, notices, opened
from ui import engine
from ui.course.lesson import Lesson
from ui.course.progress import COOKIE, MAX_CHARS, read_progress
from ui.course.quiz import Question

EVERY = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)


def page() -> None:
    """Three questions of a made-up lesson, and what the navigation would say of it."""
    import streamlit as st

    from ui.course.progress import counted, written_progress
    from ui.course.quiz import Question, quiz

    questions = (
        Question("one", "First?", ("red", "green"), frozenset({1}), "Because.", wrong={0: "Red is wrong."}),
        Question("two", "Second?", ("a.", "b.", "c."), frozenset({0, 2}), "Both.", several=True, wrong={1: "Not b."}),
        Question("three", "Third?", ("x", "y"), frozenset({0}), "So.", wrong={1: "Not y."}),
    )
    quiz("made-up", questions)
    st.caption(f"nav:{counted('made-up')}|{written_progress()}")


def asked() -> AppTest:
    return AppTest.from_function(page, default_timeout=60).run()


def turn_to(app: AppTest, n: int) -> AppTest:
    """Open the n-th question, from 0."""
    return app.button_group[0].set_value(str(n + 1)).run()


def answer(app: AppTest, option: int) -> None:
    """Choose an option of the question that is open, and have it checked."""
    key = app.radio[0].key
    app.radio[0].set_value(option)
    app.run()
    app.button(key=f"{key}/check").click().run()


def counted(app: AppTest) -> str:
    return next(text.value for text in app.caption if text.value.startswith("nav:"))


def test_one_question_is_open_at_a_time() -> None:
    app = asked()
    assert [text.value for text in app.markdown] == ["First?"]
    assert [text.value for text in turn_to(app, 2).markdown] == ["Third?"]
    assert list(app.radio[0].options) == ["x", "y"]


def check_several(app: AppTest, *options: int) -> AppTest:
    """Change what is ticked of the question that is open, and have it checked."""
    key = app.checkbox[0].key.removesuffix("/0")
    for option in options:
        app.checkbox[option].set_value(not app.checkbox[option].value)
    app.run()
    return app.button(key=f"{key}/check").click().run()


@pytest.mark.parametrize("other", ["options", "right"])
def test_a_question_of_which_options_or_answer_have_changed_is_asked_anew(other: str) -> None:
    def page() -> None:
        import streamlit as st

        from ui.course.quiz import Question, quiz

        other = st.query_params.get("other")
        options = ("3", "4") if other == "options" else ("1", "2")
        quiz("masking", [Question("count", "How many?", options, frozenset({int(other == "right")}), "So it is.")])

    app = AppTest.from_function(page).run()
    app.radio[0].set_value(1).run()
    app.button[0].click().run()
    assert app.warning[0].value == "Not quite. Right is “1”. So it is."
    app.query_params["other"] = other
    app.run()
    assert (app.radio[0].value, [*app.warning]) == (None, [])


def test_right_answers_are_counted_and_kept_for_the_browser_and_the_last_answer_counts() -> None:
    app = asked()
    assert counted(app) == "nav:|"
    once = "nav:\u00a01/3|made-up.3.one"
    for option, said in ((0, "nav:|"), (1, once), (0, "nav:|"), (1, once)):
        answer(app, option)
        assert counted(app) == said
    answer(turn_to(app, 2), 0)
    assert counted(app) == "nav:\u00a02/3|made-up.3.one.three"
    turn_to(app, 1)
    check_several(app, 1)
    assert app.warning[0].value == "Not quite. Not b. Right are “a” and “c”. Both."
    check_several(app, 1, 0)
    assert app.warning[0].value.startswith("Not quite. What you chose is right, but something is missing.")
    check_several(app, 2)
    assert app.success[0].value == "Right. Both."
    assert counted(app).startswith("nav:\u00a0✓|")


def test_the_line_over_the_course_shows_where_one_is_and_what_is_done() -> None:
    app = opened("tokenization")
    app.session_state["answers"] = {("masking", "a"): True, ("encoder", "a"): True, ("encoder", "b"): False}
    app.session_state["question_counts"] = {"masking": 1, "encoder": 2}
    app.run()
    (line,) = [e.proto.body for e in app.get("html") if e.proto.body.startswith('<p class="tw-course"')]
    slugs = [lesson.slug for lesson in LESSONS]
    marks = dict(zip(slugs, re.findall('<i class="([^"]*)">', line), strict=True))
    assert {slug: each.split() for slug, each in marks.items() if each} == {
        "tokenization": ["here"],
        "masking": ["done"],
    }
    assert f">Lesson 2 of {len(slugs)} · all questions answered right in 1<" in line


@pytest.mark.parametrize(
    ("text", "kept", "counts"),
    [
        ("", "", {}),
        (
            "masking.2.alpha~encoder.4.apart.same",
            "masking.alpha encoder.apart encoder.same",
            {"masking": 2, "encoder": 4},
        ),
        ("masking.poll~masking.alpha~encoder.3.apart", "masking.poll masking.alpha encoder.apart", {"encoder": 3}),
        ("<script>.x~a.b", "a.b", {}),
        ("a.b" + "~c.2.d" * MAX_CHARS, "a.b c.d", {"c": 2}),
        ("a..b~.~~a.3~A.b~ä.b~a.٣.b~a.3.~a.999.B", "a.3", {}),
    ],
)
def test_what_the_browser_kept_is_read_with_suspicion(text: str, kept: str, counts: dict[str, int]) -> None:
    right, found = read_progress(text)
    assert [".".join(one) for one in right] == kept.split()
    assert all(right.values())
    assert found == counts
    assert re.fullmatch(r"\w+", COOKIE)


def test_what_the_browser_kept_of_the_whole_course_is_read() -> None:
    kept = "~".join(f"{one.slug}.4.the-first.the-second.the-third.the-fourth" for one in LESSONS)
    right, counts = read_progress(kept)
    assert len(right) == 4 * len(LESSONS)
    assert set(counts) == {one.slug for one in LESSONS}


def questions_on(app: AppTest, slug: str) -> list[tuple[str, ...]]:
    """What a lesson asks, one question after the other, each with its options."""
    (numbers,) = (group for group in app.button_group if group.key == f"{slug}/at")
    found = []
    for n in list(numbers.options):
        next(group for group in app.button_group if group.key == f"{slug}/at").set_value(n).run()
        (radio,) = (radio for radio in app.radio if str(radio.key).startswith(f"{slug}/"))
        found.append((radio.label, *radio.options))
    return found


@pytest.mark.parametrize("slug", ["self-attention", "decoder-and-output"])
def test_another_sentence_brings_the_questions_that_its_own_page_asks(slug: str) -> None:
    sentence = "We sat on the bank of the river."
    app = opened(slug, sentence="The white dog sees the black cat.")
    before = questions_on(app, slug)
    app.text_input(key="sentence").set_value(sentence).run()
    assert questions_on(app, slug) == questions_on(opened(slug, sentence=sentence), slug) != before


@EVERY
def test_each_wrong_option_has_its_own_explanation_and_every_question_can_be_put_to_a_class(lesson: Lesson) -> None:
    for sentence in ("I ate an apple", "My neighbour's cat doesn't like the rain."):
        trace = engine.trace(sentence, name=(model_of(lesson) or engine.model()).name)
        questions = [one if isinstance(one, Question) else one() for one in lesson.predict(trace)]
        assert len(questions) >= 2
        assert len({question.id for question in questions}) == len(questions)
        for question in questions:
            wrong = set(range(len(question.options))) - question.correct
            assert question.correct, question.id
            assert set(question.wrong) == wrong, question.id
            assert len(set(question.wrong.values())) == len(wrong) or len(wrong) < 2, question.id
            assert re.fullmatch("[a-z0-9_-]{1,40}", question.id)
            put = checked(as_asked(lesson, question, sentence))
            assert put.text.startswith(question.text)
            assert (put.options, put.right) == (question.options, question.correct)


def parts_of(app: AppTest) -> list[str]:
    keys = (str(getattr(one, "key", "")) for one in elements(app.main))
    return [key.removeprefix("part_") for key in keys if key.startswith("part_")]


@EVERY
def test_questions_come_before_what_would_answer_them_and_the_address_cannot_break_a_lesson(lesson: Lesson) -> None:
    first = opened(lesson.slug)
    assert parts_of(first) == ["idea", "predict", "see", "check", "do", "code"]
    kinds = ("button_group", "toggle", "slider", "select_slider", "selectbox", "number_input")
    keys = {str(widget.key) for kind in kinds for widget in first.get(kind)}
    keys |= {"cell", "step", "at", "off", "unit", "hide", "model", "row", "prefix", "gpt_prefix"}
    values = ("", "0", "-1", "1e9", "NaN", "<b>x", "9" * 500, "٣", "1.1", "true", ["2.2", "99.99"])
    for value in values:
        opened(lesson.slug, **dict.fromkeys(keys - {"sentence", "None"}, value))


def test_an_unknown_model_in_the_address_is_said_in_one_sentence() -> None:
    read = next(one for one in reversed(LESSONS) if not one.on_map.instead)  # there the visitor's model reads
    app = opened(read.slug, model="<b>nobody</b>")
    (said,) = [text for text in notices(app) if "no model named" in text]
    assert said.endswith("The translator is shown instead.")
    assert not [text for text in notices(opened(read.slug, model="untrained")) if "no model named" in text]


@EVERY
def test_presenter_mode_shows_one_part_at_a_time(lesson: Lesson) -> None:
    parts = ["idea", "predict", "see", "do", "code"]
    app = opened(lesson.slug, present="true")
    for n, name in enumerate(parts, 1):
        assert parts_of(app) == [name] + ["check"] * (name == "see")
        assert any(f"Part {n} of 5: **{name.capitalize()}**" in text.value for text in app.markdown)
        assert len(app.header) == (name == "idea" and lesson.on_map.scene is not None)  # its question
        assert any(
            e.key == "cookie_walkthrough_progress" for e in app.get("bidi_component")
        )  # what is answered here is kept
        if n < len(parts):
            next(button for button in app.button if button.label == "Next").click().run()
            assert not app.exception
    next(button for button in app.button if button.label == "Reset").click().run()
    assert "step" not in app.query_params


def test_the_presenters_buttons_lead_one_part_on_and_one_back_and_no_further() -> None:
    app = opened("masking", present="true")
    for label, to in (*(("Next", n) for n in range(2, 6)), *(("Back", n) for n in range(4, 0, -1))):
        buttons = {button.label: button for button in app.button}
        buttons[label].click().run()
        buttons = {button.label: button for button in app.button}
        assert any(text.value.startswith(f"Part {to} of 5") for text in app.markdown)
        assert [buttons[name].disabled for name in ("Back", "Next", "Reset")] == [to == 1, to == 5, to == 1]


def test_a_broken_model_that_only_one_lesson_needs_is_told_there_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = AppTest.from_file(ROUTER, default_timeout=60)

    def broken(*folder: Path) -> None:
        raise CheckpointError("The model file <b>a_b</b> is missing.")

    monkeypatch.setattr(readers, "load_readers", broken)
    go_to(app, "before-attention").run()
    assert not app.exception
    said = {text.value.replace("\\", "") for text in app.error}
    assert said == {"The model file <b>a_b</b> is missing."}
    assert {header.value for header in app.header} >= {"Predict", "See", "Do", "Code"}
    assert not opened("tokenization").error


def calls_to(ends: dict[str, str]) -> list[str]:
    """Our functions that stand between the router and these, in the order of the calls, while a new sentence is shown.

    Args: ends: where a call chain ends, by file and name; its value is not read
    """
    chains: dict[str, list[str]] = {}

    def ours(frame: FrameType | None) -> list[str]:
        found = []
        while frame:
            file = Path(frame.f_code.co_filename)
            if file.is_relative_to(ROOT) and not {".venv", "tests"} & {*file.relative_to(ROOT).parts}:
                found.append(f"{file.relative_to(ROOT).as_posix()}  {frame.f_code.co_name}")
            frame = frame.f_back
        return [one for one in found[::-1] if not one.endswith("<module>")]

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in ends:
            chain = ours(frame)
            if chain and chain[-1] == f"{ends[frame.f_code.co_name]}  {frame.f_code.co_name}":
                chains.setdefault(chain[-1], chain)

    threading.setprofile(look)
    try:
        opened("scaled-dot-product", sentence="Nobody has typed this sentence before.")
    finally:
        threading.setprofile(None)
    return list(dict.fromkeys(one for chain in chains.values() for one in chain))


def test_ten_functions_lead_from_the_sentence_box_to_a_painted_cell() -> None:
    """They are those that CONTRIBUTING lists; the trace is the one result that comes back up."""
    measured = calls_to({"trace": "model/trace.py", "matrix": "ui/components/matrix/__init__.py"})
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("to a painted cell.**")[2]
    told = re.findall(r"^( {6,})(\S+\.py  \w+)", text.partition("The page of a lesson")[0], re.MULTILINE)
    assert [name for _, name in told] == measured
    assert len(measured) <= 10
    # A call stands further in; where a line stands further out again, a result has come back.
    assert sum(after < before for (before, _), (after, _) in pairwise(told)) == 1
