"""The lesson on embeddings, by what it would show; NumPy computes every number again from the shipped weights."""

import html
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.pages.kit import assert_sound, component, floats, markdown, opened, table, values
from ui import engine
from ui.controls.vocabulary_entry import EMBEDDINGS, entries, find
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("embeddings").slug
SENTENCE = "The black cat fights the white cat."


def matrix(twin: bool = False) -> np.ndarray:
    return engine.model("untrained" if twin else "translator").weights[EMBEDDINGS].astype(np.float64)


def cosines_to(row: int, twin: bool = False) -> np.ndarray:
    wide = matrix(twin)
    return wide @ wide[row] / (np.linalg.norm(wide, axis=1) * np.linalg.norm(wide[row]))


def lists(page: AppTest) -> list[list[tuple[str, float]]]:
    """The nearest pieces and their cosines: with the learned matrix, with the random one."""
    found = [e.proto.body for e in page.get("html") if 'class="tw-bars"' in e.proto.body]
    pattern = r'tw-bar-name">(.*?)</span>.*?tw-bar-value">(.*?)</span>'
    return [[(html.unescape(name), number(value)) for name, value in re.findall(pattern, body)] for body in found]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_rows_are_looked_up_and_scaled() -> None:
    ids = [token.id for token in engine.trace(SENTENCE).src]
    page = opened(PAGE, sentence=SENTENCE)
    np.testing.assert_array_equal(values(page, "see_matrix"), matrix()[ids])
    page = opened(PAGE, sentence=SENTENCE, rows="2 times √d_model")
    scaled = values(page, "see_matrix")
    np.testing.assert_allclose(scaled, matrix()[ids] * 16, rtol=1e-6)


def test_the_product_with_one_hot_is_the_row() -> None:
    page = opened(PAGE, sentence=SENTENCE, cell="3.5")
    id = engine.trace(SENTENCE).src[2].id
    product, row = values(page, "see_long_way")
    np.testing.assert_array_equal(product, row)
    np.testing.assert_array_equal(row, matrix()[id][:16].astype(np.float32))
    assert "Largest difference over all 256 dimensions: 0.0" in markdown(page)
    assert f"has its 1 at place {id}" in markdown(page)
    assert f"1\\cdot {matrix()[id][4]:.4f}".replace("\\cdot -", "\\cdot (-") in markdown(page)


def test_cosines_of_the_sentence() -> None:
    page = opened(PAGE, sentence=SENTENCE, rows="3 cosines", cell="1.3")
    ids = [token.id for token in engine.trace(SENTENCE).src]
    expected = np.stack([cosines_to(i)[ids] for i in ids])
    np.testing.assert_allclose(values(page, "see_cosines"), expected, atol=1e-6)
    assert component(page, "see_cosines")["limit"] == 1
    assert f"= {expected[0, 2]:.4f}$" in markdown(page)


def test_neighbours_learned_and_random() -> None:
    page = opened(PAGE, sentence=SENTENCE)
    page.text_input(key="find").set_value("dog").run()
    assert_sound(page)
    dog = find("dog")[0]
    assert entries()[dog] == "␣dog"
    for twin, shown in zip((False, True), lists(page), strict=True):
        found = cosines_to(dog, twin)
        found[dog] = -1
        best = np.argsort(-found)[:8]
        assert [name for name, _ in shown] == [entries()[i] for i in best]
        np.testing.assert_allclose([value for _, value in shown], found[best], atol=6e-5)


@pytest.mark.parametrize("typed", ["zzqqzz", "<script>", "*", "x" * 5000, "\x00"])
def test_any_search(typed: str) -> None:
    page = opened(PAGE)
    page.text_input(key="find").set_value(typed).run()
    assert_sound(page)
    assert [len(shown) for shown in lists(page)] == [8, 8]


def test_limits_are_said_and_what_was_typed_stays() -> None:
    page = opened(PAGE, find="x" * 10_000)
    assert page.text_input(key="find").value == "x" * 10_000
    assert "Searched for: the first 40 characters" in markdown(page)
    assert "No piece holds" in markdown(page)
    for typed in ("", "   "):
        assert "No piece holds" not in markdown(opened(PAGE, find=typed))
    many = " ".join(["The black cat fights the white cat."] * 9)
    page = opened(PAGE, sentence=many)
    whole = len(engine.trace(many).src)
    assert f"those among the first 40 of {whole} pieces" in markdown(page)
    assert f"are named (the first 40 of {whole})" in markdown(page)


def test_a_word_worth_finding_is_one_click_away() -> None:
    page = opened(PAGE)
    for key in [str(b.key) for b in page.button if str(b.key).startswith("find_")]:
        page.button(key=key).click().run()
        assert_sound(page)
        word = page.text_input(key="find").value
        if word:
            assert entries()[find(word)[0]] == f"␣{word}"
            best = np.argsort(-cosines_to(find(word)[0]))[1:9]
            assert [name for name, _ in lists(page)[0]] == [entries()[i] for i in best]


def test_the_map_and_the_table_below_it_show_the_two_directions_of_largest_variance() -> None:
    page = opened(PAGE, sentence=SENTENCE)
    (chart,) = (json.loads(c.proto.spec) for c in page.get("plotly_chart"))
    dots = np.stack([floats(chart["data"][0][axis]) for axis in "xy"], axis=1)
    centred = matrix() - matrix().mean(0)
    directions = np.linalg.eigh(np.cov(centred.T))[1][:, [-1, -2]]
    expected = centred @ directions
    expected *= np.sign((expected * dots).sum(0))  # a direction has no front and back
    np.testing.assert_allclose(dots, expected, atol=1e-5)
    lit = list(dict.fromkeys(token.id for token in engine.trace(SENTENCE).src))
    np.testing.assert_allclose(floats(chart["data"][1]["x"]), expected[lit, 0], atol=1e-5)
    rows = table(page, "Piece", "Id")
    assert [int(row[1]) for row in rows] == lit
    np.testing.assert_allclose([[number(n) for n in row[2:]] for row in rows], expected[lit], atol=6e-4)


@pytest.mark.parametrize("entry", ["7", "99999999", "-x"])
def test_an_entry_from_the_address_is_checked(entry: str) -> None:
    assert [len(shown) for shown in lists(opened(PAGE, entry=entry))] == [8, 8]


def test_an_entry_chosen_is_kept_in_the_address() -> None:
    page = opened(PAGE, sentence=SENTENCE)
    (pills,) = [g for g in page.button_group if str(g.key).startswith("entry/")]
    other = engine.trace(SENTENCE).src[2].id
    pills.set_value(other).run()
    assert_sound(page)
    assert page.query_params["entry"] in (str(other), [str(other)])
    again = opened(PAGE, sentence=SENTENCE, entry=str(other))
    assert lists(again) == lists(page)


def test_the_map_is_honest_about_what_it_keeps() -> None:
    centred = matrix() - matrix().mean(0)
    variances = np.linalg.eigvalsh(np.cov(centred.T))[::-1]
    assert f"**{variances[:2].sum() / variances.sum():.1%}** of the variance" in markdown(opened(PAGE))


def test_bank_is_one_row_in_both_sentences() -> None:
    page = opened(PAGE)
    radio = next(r for r in page.radio if "Yes" in r.options)
    radio.set_value(0).run()
    page.button(key=f"{radio.key}/check").click().run()
    assert any("largest difference between the two rows is 0.0" in s.value for s in page.success)
