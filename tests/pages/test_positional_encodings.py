"""The lesson on positions, by what it would show; NumPy computes every number again."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.pages.kit import assert_sound, component, markdown, opened, size, values
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("positional-encodings").slug
SENTENCE = "The black cat fights the white cat."


# Each simpler rule: its number in the address, the next value from P(t), t and c, and the constants on the page.


@pytest.fixture
def page() -> AppTest:
    return opened(PAGE, sentence=SENTENCE)


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
