"""The lesson on positions, by what it would show; NumPy computes every number again."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.oracle.forward import positions
from tests.pages.kit import assert_sound, component, markdown, notices, opened, size, table, values
from ui import engine
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("positional-encodings").slug
SENTENCE = "The black cat fights the white cat."
D_MODEL = 256


# Each simpler rule: its number in the address, the next value from P(t), t and c, and the constants on the page.


@pytest.fixture
def page() -> AppTest:
    return opened(PAGE, sentence=SENTENCE)


def test_the_matrix_is_the_formula(page: AppTest) -> None:
    shown = values(page, "see_matrix")
    length = len(engine.trace(SENTENCE).src)
    assert shown.shape == (length, 10)
    np.testing.assert_allclose(shown, positions(length, D_MODEL)[:, :10], atol=1e-6)


def test_the_chosen_cell_is_worked_out() -> None:
    text = markdown(opened(PAGE, sentence=SENTENCE, cell="4.6"))  # both counted from 1 here: pos 3, dimension 6
    value = f"{positions(4, D_MODEL)[3, 5]:.4f}"
    assert value.startswith("-")
    row = engine.trace(SENTENCE).src[3].text
    assert f"**How did this {value.replace('-', '−')} come about?** Row **3 {row}**, column **6**" in text
    angle = 3 / 10000 ** (4 / D_MODEL)
    assert rf"\cos\!\left(\frac{{3}}{{10000^{{4/256}}}}\right) = \cos({angle:.4f}) = {value}" in text


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
    page = opened(PAGE, sentence="ภาษาไทย", shuffle_of="Who sees whom?")
    assert not [notice for notice in notices(page) if "only one word" in notice]
    assert component(page, "do_before")["rows"][:3] == ["The", "white", "dog"]


def test_the_example_is_one_that_the_model_masters() -> None:
    page = opened(PAGE, shuffle_of="Who sees whom?")
    first = next(m.value for m in page.markdown if "** → " in m.value)
    assert first.replace("\\", "") == "**The white dog sees the black cat.** → Der weiße Hund sieht die schwarze Katze."


@pytest.mark.parametrize("off", ["true", "false"])
@pytest.mark.parametrize("lifted", ["true", "false"])
def test_it_is_the_mask_that_tells_the_decoder_the_order(off: str, lifted: str) -> None:
    page = opened(PAGE, shuffle_in="the decoder", positions_off=off, mask_off=lifted)
    moved = size(difference(page))
    assert moved < 1e-4 if off == lifted == "true" else moved > 0.1
    before, after = values(page, "do_before"), values(page, "do_after")
    # <sos> stays in front; behind the mask it sees nothing else.
    assert np.allclose(before[0], after[0], atol=1e-5) == (lifted == "false" or off == "true")


def test_the_decoders_positions_are_those_of_its_own_inputs() -> None:
    trace = engine.trace(SENTENCE)
    page = opened(PAGE, sentence=SENTENCE, stack="Decoder", positions_tensor="Their sum")
    shown = values(page, "see_matrix")
    expected = trace.tensors["decoder.embedding.scaled"] + positions(len(trace.tgt), D_MODEL)
    np.testing.assert_allclose(shown, expected[:, :10], atol=1e-5)
    assert component(page, "see_matrix")["rows"] == [f"{n} {token.text}" for n, token in enumerate(trace.tgt)]


def test_rotary_products_depend_on_the_distance_alone(page: AppTest) -> None:
    trace = engine.trace(SENTENCE)
    q, k = (trace.tensors[f"encoder.layers.0.self_attn.{name}"][0, 0].astype(np.float64) for name in "qk")
    lines = [[size(cell) for cell in line] for line in table(page, "Position of q")]
    for m, n, distance, product in lines:
        angles = (n - m) / 10000 ** (np.arange(0, len(q), 2) / len(q))
        # As complex numbers: a turn is a factor, and a dot product the real part.
        turned = (q[::2] - 1j * q[1::2]) * (k[::2] + 1j * k[1::2]) * np.exp(1j * angles)
        assert product == pytest.approx(turned.real.sum(), abs=1e-3)
        assert distance == n - m
    assert lines[1][3] == lines[2][3] != lines[0][3]


def test_the_right_answers() -> None:
    page = opened(PAGE, sentence=SENTENCE)
    rights = "be the same numbers", f"(pos {int(np.argmax(np.sin(np.arange(8))))})", "the same"
    for n, right in enumerate(rights, 1):
        (at,) = (g for g in page.button_group if str(g.key).endswith("/at"))
        at.set_value(str(n)).run()
        (radio,) = page.radio
        radio.set_value(next(i for i, option in enumerate(radio.options) if right in option)).run()
        page.button(key=f"{radio.key}/check").click().run()
        assert [s.value.partition(".")[0] for s in page.success] == ["Right"]
