"""The lesson on query, key and value: its toy database, what other matrices do, its questions and its address."""

import re

import numpy as np
import pytest

from tests.oracle.formula import agree
from tests.oracle.forward import Forward, softmax, source_ids
from tests.pages.kit import markdown, opened, values
from ui import engine

PAGE = "query-key-value"
ORDERS = np.array([[3, 4], [1, 12], [8, 6], [2, 20]], float)  # items, day of May


def oracle(text: str) -> Forward:
    return Forward(source_ids(text), [token.id for token in engine.trace(text).labels])


@pytest.mark.parametrize("sure", [0, 2, 10])
def test_the_soft_look_up(sure: int) -> None:
    app = opened(PAGE)
    app.slider(key="sure").set_value(sure).run()
    asked = sure * np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0, 0]])
    weights = softmax(asked)
    assert np.allclose(values(app, "look_up_weights"), weights, atol=1e-6)
    assert np.allclose(values(app, "look_up_answers"), weights @ ORDERS, atol=1e-5)
    (formula,) = re.findall(r"First row, items: \$(.*?)\$", markdown(app))
    assert abs(agree(formula) - (weights @ ORDERS)[0, 0]) < 1e-4


def test_a_sure_query_is_a_hard_look_up() -> None:
    app = opened(PAGE)
    app.slider(key="sure").set_value(10).run()
    assert np.allclose(values(app, "look_up_answers")[:2], ORDERS[[0, 2]], atol=0.01)
    assert np.allclose(values(app, "look_up_answers")[2], ORDERS[:2].mean(0), atol=0.2)


def test_nonsense_in_the_address_is_left_aside() -> None:
    app = opened(PAGE, part="W", matrices="<b>", layer="99", head="0", cell="x", sure="-3")
    assert np.allclose(values(app, "do_before").sum(-1), 1, atol=1e-5)


def test_attentions_of_later_lessons_are_offered_only_to_who_asks_for_one() -> None:
    def kinds(**parameters: str) -> list[str]:
        app = opened(PAGE, **parameters)
        return [group.value for group in app.button_group if group.key == "attention"]

    assert kinds() == []
    assert kinds(attention="Encoder") == []
    assert kinds(attention="Masked decoder") == ["Masked decoder"]
    assert kinds(attention="Encoder-decoder") == ["Encoder-decoder"]


def test_who_chose_a_later_attention_finds_the_way_back() -> None:
    app = opened(PAGE, attention="Masked decoder")
    for kind in ("Encoder", "Encoder-decoder"):
        app.button_group(key="attention").set_value(kind).run()
        assert app.button_group(key="attention").value == kind
