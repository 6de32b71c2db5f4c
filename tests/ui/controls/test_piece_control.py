"""A piece of the sentence, chosen: one box for all sentences, kept in the address by its number."""

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from ui.controls.piece_control import choose_part, current_part

    of = st.text_input("Sentence", "one two three", key="of")
    words = of.split()
    before = current_part(len(words), 1, of, "part")
    chosen = choose_part("Piece", words, 1, of, "part")
    st.text(f"{before} {chosen}")


def test_another_sentence_is_chosen_from_in_the_same_box() -> None:
    app = AppTest.from_function(page).run()
    assert app.text[0].value == "1 1"
    box = app.selectbox[0].id
    app.text_input[0].set_value("four five six seven").run()
    assert app.selectbox[0].options == ["1 four", "2 five", "3 six", "4 seven"]
    assert app.text[0].value == "1 1"
    app.selectbox[0].set_value(3).run()
    assert (app.text[0].value, app.query_params["part"]) == ("3 3", "4")
    app.text_input[0].set_value("eight nine").run()
    assert app.text[0].value == "1 1", "there is no fourth piece"
    assert app.selectbox[0].id == box, "another box would stay on the page until all of it has run"
    app.selectbox[0].set_value(0).run()
    app.text_input[0].set_value("ten eleven twelve").run()
    assert app.text[0].value == "0 0", "as the address says"


def test_a_link_opens_the_piece_that_it_names() -> None:
    app = AppTest.from_function(page)
    app.query_params["part"] = "3"
    assert app.run().text[0].value == "2 2"
