"""The lesson on embeddings, by what it would show; NumPy computes every number again from the shipped weights."""

import html
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.pages.kit import assert_sound, markdown, opened
from ui import engine
from ui.controls.vocabulary_entry import EMBEDDINGS, entries, find
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("embeddings").slug
SENTENCE = "The black cat fights the white cat."


def matrix(twin: bool = False) -> np.ndarray:
    return engine.model("untrained" if twin else "translator").weights[EMBEDDINGS].astype(np.float64)


def cosines_to(row: int, twin: bool = False, centre: bool = False) -> np.ndarray:
    """The cosines of all rows to one; with the mean row taken away if centred."""
    wide = matrix(twin)
    wide = wide - wide.mean(0) if centre else wide
    return wide @ wide[row] / (np.linalg.norm(wide, axis=1) * np.linalg.norm(wide[row]))


def lists(page: AppTest) -> list[list[tuple[str, float]]]:
    """The nearest pieces and their cosines: with the learned matrix, with the random one."""
    found = [e.proto.body for e in page.get("html") if 'class="tw-bars"' in e.proto.body]
    pattern = r'tw-bar-name">(.*?)</span>.*?tw-bar-value">(.*?)</span>'
    return [[(html.unescape(name), number(value)) for name, value in re.findall(pattern, body)] for body in found]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_neighbours_learned_and_random() -> None:
    page = opened(PAGE, sentence=SENTENCE)
    page.text_input(key="find").set_value("dog").run()
    assert_sound(page)
    dog = find("dog")[0]
    assert entries()[dog] == "␣dog"
    for twin, shown in zip((False, True), lists(page), strict=True):
        found = cosines_to(dog, twin, centre=True)
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


def test_a_word_worth_finding_is_one_click_away() -> None:
    page = opened(PAGE)
    for key in [str(b.key) for b in page.button if str(b.key).startswith("find_")]:
        page.button(key=key).click().run()
        assert_sound(page)
        word = page.text_input(key="find").value
        if word:
            assert entries()[find(word)[0]] == f"␣{word}"
            best = np.argsort(-cosines_to(find(word)[0], centre=True))[1:9]
            assert [name for name, _ in lists(page)[0]] == [entries()[i] for i in best]


def test_it_opens_on_a_word_that_works_and_says_how_near_is_near() -> None:
    rows = matrix() - matrix().mean(0)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    sample = np.arange(0, len(units), 16)
    alike = units[sample] @ units.T
    alike[np.arange(len(sample)), sample] = -1
    usual = alike.max(1)
    verdicts = {}
    for word in ("big", "king"):
        page = opened(PAGE, **({} if word == "big" else {"find": word}))
        assert lists(page)[0][0][0] == {"big": "␣large", "king": "␣apple"}[word]
        as_near = int((usual >= lists(page)[0][0][1] - 5e-5).sum())
        (said,) = re.findall(rf"Of {len(sample)} pieces from all over the vocabulary, (\d+) have", markdown(page))
        assert abs(int(said) - as_near) <= 1
        verdicts[word] = as_near
        assert ("That is near" in markdown(page)) == (word == "big")
        assert ("nothing special" in markdown(page)) == (word == "king")
    assert verdicts["big"] < len(sample) / 4 < verdicts["king"]


def test_unrelated_rows_have_no_cosine_of_zero() -> None:
    units = matrix() / np.linalg.norm(matrix(), axis=1, keepdims=True)
    total, n = units.sum(0), len(units)
    mean = (total @ total - n) / (n * (n - 1))
    assert f"a cosine of {mean:.2f} on average, not 0" in markdown(opened(PAGE, rows="3 cosines"))
    assert round(mean, 2) == 0.14


@pytest.mark.parametrize(
    ("typed", "names"),
    [("king", ["␣king"]), ("bank", ["␣bank", "␣Bank"]), ("Bank", ["␣Bank", "␣bank"]), ("swim", ["␣swim", "␣swimming"])],
)
def test_a_search_means_words_and_their_beginnings(typed: str, names: list[str]) -> None:
    assert [entries()[i] for i in find(typed)] == names


def test_what_stands_only_inside_is_found_if_nothing_else_is() -> None:
    assert all("riday" in entries()[i] for i in find("riday"))
    assert find("riday")


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


def test_bank_is_one_row_in_both_sentences() -> None:
    page = answered_right(PAGE, "Does *bank* have", "Yes")
    assert any("largest difference between the two rows is 0.0" in s.value for s in page.success)


def answered_right(slug: str, asks: str, answer: str) -> AppTest:
    """The page after its question that asks this was answered so."""
    page = opened(slug)
    (at,) = (g for g in page.button_group if str(g.key).endswith("/at"))
    for n in ("1", "2", "3"):
        at.set_value(n).run()
        (radio,) = page.radio
        if asks in radio.label:
            radio.set_value(radio.options.index(answer)).run()
            page.button(key=f"{radio.key}/check").click().run()
            return page
        (at,) = (g for g in page.button_group if str(g.key).endswith("/at"))
    raise AssertionError(f"nothing asks {asks}")
