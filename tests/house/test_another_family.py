"""A model of another family: what it writes, and how pages show it."""

from streamlit.testing.v1 import AppTest

from model.decoding.strategies import Greedy
from model.trace import trace
from tests.house.toy import toy

SENTENCE = "The cat sat on the mat."


def test_what_is_given_comes_behind_the_text() -> None:
    ids, given = toy().tokenizer.encode(SENTENCE), (101, 77, 30)
    one = trace(toy(), SENTENCE, decoding=Greedy(max_steps=15, prefix=given))
    assert one.label_ids[: len(ids) + 3] == (*ids, *given)
    assert len(one.labels) == 15


def page() -> None:
    from model.decoding.strategies import Greedy
    from model.trace import trace
    from tests.house.toy import toy
    from ui.components.matrix import Caption
    from ui.controls.head_control import HEAD
    from ui.controls.layer_control import LAYER
    from ui.course.check import check_cell, checked_matrix
    from ui.views.attention_maps import attention_maps

    one = trace(toy(), "The cat sat on the mat.", decoding=Greedy(max_steps=12))
    attention_maps(one)
    head = HEAD.value(one.model)
    shown = checked_matrix(one, f"{one.path(head)}.rotated_q", Caption("Rotated queries"), head=head.head)
    check_cell(shown)
    LAYER.draw(one.model)


def test_the_attention_pages_and_check_show_it() -> None:
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    assert any("turns dimensions" in text.value for text in app.markdown)
