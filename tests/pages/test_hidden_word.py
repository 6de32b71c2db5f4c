"""The word that is hidden goes with the sentence."""

from streamlit.testing.v1 import AppTest

from tests.pages.kit import assert_sound, opened


def hidden(app: AppTest) -> int:
    return next(int(one.value) for one in app.selectbox if one.label == "Word to hide")


def test_another_sentence_hides_its_own_word() -> None:
    app = opened("student-and-teacher", sentence="The old man looked at the sea")
    before = hidden(app)
    app.text_input(key="sentence").set_value("Go").run()
    assert_sound(app)
    assert before != hidden(app) == hidden(opened("student-and-teacher", sentence="Go"))
