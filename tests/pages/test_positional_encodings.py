"""The lesson on positions, by what it would show; NumPy computes every number again."""

import math
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.model.test_positions import TABLE
from tests.pages.kit import assert_sound, component, markdown, notices, opened, size, values
from ui import engine
from ui.lessons import lesson

PAGE = lesson("positional-encodings").file
SENTENCE = "The black cat fights the white cat."
D_MODEL = 256


def sinusoids(length: int, d_model: int = D_MODEL) -> np.ndarray:
    """The encoding by its formula, one number at a time."""
    wave = (math.sin, math.cos)
    return np.array(
        [[wave[d % 2](t / 10000 ** ((d - d % 2) / d_model)) for d in range(d_model)] for t in range(length)]
    )


def named_numbers(text: str, pattern: str) -> list[float]:
    return [float(n.replace("−", "-")) for n in re.findall(pattern, text)]


@pytest.fixture
def page() -> AppTest:
    return opened(PAGE, sentence=SENTENCE)


def test_the_matrix_is_the_formula(page: AppTest) -> None:
    shown = values(page, "see_matrix")
    length = len(engine.trace(SENTENCE).src)
    assert shown.shape == (length, 10)
    np.testing.assert_allclose(shown, sinusoids(length)[:, :10], atol=1e-6)


def test_the_chosen_cell_is_worked_out() -> None:
    text = markdown(opened(PAGE, sentence=SENTENCE, cell="4.6"))  # counted from 1: position 3, dimension 5
    value = f"{sinusoids(4)[3, 5]:.4f}"
    assert value.startswith("-")
    row = engine.trace(SENTENCE).src[3].text
    assert f"**How did this {value.replace('-', '−')} come about?** Row **3 {row}**, column **5**" in text
    angle = 3 / 10000 ** (4 / D_MODEL)
    assert rf"\cos\!\left(\frac{{3}}{{10000^{{4/256}}}}\right) = \cos({angle:.4f}) = {value}" in text


def test_all_dimensions_and_the_sum() -> None:
    page = opened(PAGE, sentence=SENTENCE, positions_tensor="Their sum", positions_dimensions="all 256", cell="3.200")
    shown = values(page, "see_matrix")
    assert shown.shape[1] == D_MODEL
    assert f"**How did this {shown[2, 199]:.4f}".replace("-", "−") in markdown(page)


def test_the_table_of_five_dimensions(page: AppTest) -> None:
    shown = values(page, "small_table")
    assert component(page, "small_table")["digits"] == 3
    assert [[f"{v:.3f}" for v in column] for column in shown.T] == [r.split() for r in TABLE.strip().splitlines()]


@pytest.mark.parametrize(
    ("rule", "number", "constant", "says"),
    [
        ("P(t) + c", 0, "1", "**256.000** (not bounded), the two closest positions are **1.000** apart (unique)"),
        (
            "P(t) · c",
            1,
            "−1",
            "**1.000** (bounded), the two closest positions are **0.000** apart (not to be told apart)",
        ),
        ("P(t) · c", 1, "1.1", "(not bounded)"),
        ("P(t) · c", 1, "0.9", "(not to be told apart)"),
        ("e^(P(t) · c)", 2, "1", "(not bounded)"),
        ("e^(P(t) · c)", 2, "0.1", "(bounded), the two closest positions are **0.000** apart (not to be told apart)"),
        ("P(t) · t · c", 3, "1", "(not bounded), the two closest positions are **0.000** apart (not to be told apart)"),
        ("sine and cosine", 9, "1", "(bounded)"),
    ],
)
def test_each_simpler_rule_fails(rule: str, number: int, constant: str, says: str) -> None:
    text = markdown(opened(PAGE, rule=rule, **{f"constant_{number}": constant}))
    assert says in text
    if number == 9:
        assert "apart (unique)" in text
        assert "**1.000**" in text


def test_products_depend_on_the_distance_alone() -> None:
    page = opened(PAGE, sentence=SENTENCE, positions_view="Products")
    encoding = sinusoids(len(engine.trace(SENTENCE).src))
    np.testing.assert_allclose(values(page, "products"), encoding @ encoding.T, atol=1e-4)
    (spread,) = re.findall(r"differ by at most (.+?), which", markdown(page))
    assert size(spread) < 1e-4


def test_the_rotation_moves_every_position() -> None:
    page = opened(PAGE, positions_view="Rotation", offset="7")
    shown = values(page, "rotation")
    for pair in range(3):
        angle = 7 / 10000 ** (2 * pair / D_MODEL)
        block = shown[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2]
        expected = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        np.testing.assert_allclose(block, expected, atol=1e-6)
    text = markdown(page)
    assert "for t = 0 to 92" in text
    assert named_numbers(text, r"lengths between \*\*([\d.]+)\*\* and \*\*([\d.]+)\*\*"[:30]) == [11.3137]


@pytest.mark.parametrize("view", ["Clock hands", "100 positions"])
def test_figures_have_alt_texts(view: str) -> None:
    page = opened(PAGE, positions_view=view, position="9")
    assert all(chart.proto.alt for chart in page.get("plotly_chart"))
    assert len(page.get("plotly_chart")) == 2


def difference(page: AppTest) -> str:
    (found,) = re.findall(r"over all 256 dimensions: \*\*(.+?)\*\*", markdown(page))
    return found


def test_rows_follow_their_words_only_without_positions(page: AppTest) -> None:
    assert size(difference(page)) > 0.1
    assert np.abs(values(page, "do_before") - values(page, "do_after")).max() > 0.01
    page.toggle(key="positions_off").set_value(True).run()
    assert_sound(page)
    assert size(difference(page)) < 1e-4
    np.testing.assert_allclose(values(page, "do_before"), values(page, "do_after"), atol=1e-4)
    assert component(page, "do_before")["limit"] == component(page, "do_after")["limit"]
    yours, shuffled = (
        m.value.partition("→")[2] for m in page.markdown if "** → " in m.value and m.value.startswith("**")
    )
    assert yours == shuffled


def test_the_shuffle_is_in_the_address(page: AppTest) -> None:
    def orders() -> list[str]:
        return [m.value for m in page.markdown if "** → " in m.value]

    first = orders()
    next(b for b in page.button if b.label == "Shuffle again").click().run()
    assert page.query_params["shuffle"] == "1"
    assert orders()[0] == first[0]
    again = opened(PAGE, sentence=SENTENCE, shuffle="1")
    assert [m.value for m in again.markdown if "** → " in m.value] == orders()
    for wrong in ("-1", "x", "9999", "٣"):
        assert [m.value for m in opened(PAGE, sentence=SENTENCE, shuffle=wrong).markdown if "** → " in m.value] == first


def test_one_word_has_no_other_order() -> None:
    assert any("only one word" in notice for notice in notices(opened(PAGE, sentence="ภาษาไทย")))


def test_the_right_answers() -> None:
    page = opened(PAGE, sentence=SENTENCE)
    rights = "be the same numbers", f"position {int(np.argmax(np.sin(np.arange(8))))}", "the same"
    assert len(page.radio) == lesson("positional-encodings").n_questions
    for n, right in enumerate(rights):
        page.radio[n].set_value(next(i for i, option in enumerate(page.radio[n].options) if right in option)).run()
        [b for b in page.button if b.label == "Check my answer"][n].click().run()
    assert [s.value.partition(".")[0] for s in page.success] == ["Right"] * 3
