"""The lesson on positions, by what it would show; NumPy computes every number again."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import tests.course  # noqa: F401 - fills the course
from tests.model.test_positions import TABLE
from tests.oracle.forward import positions
from tests.pages.kit import assert_sound, component, floats, markdown, notices, opened, size, table, values
from ui import engine
from ui.course.lesson import COURSE

PAGE = COURSE.lesson("positional-encodings").slug
SENTENCE = "The black cat fights the white cat."
D_MODEL = 256


def exponential(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


# Each simpler rule: its number in the address, the next value from P(t), t and c, and the constants on the page.
CANDIDATES: dict[str, tuple[int, Callable[[float, int, float], float], tuple[str, ...]]] = {
    "P(t) + c": (0, lambda p, t, c: p + c, ("1", "0.1", "0.01")),
    "P(t) · c": (1, lambda p, t, c: p * c, ("1.1", "0.9", "−1")),
    "e^(P(t) · c)": (2, lambda p, t, c: exponential(p * c), ("1", "0.1")),
    "P(t) · t · c": (3, lambda p, t, c: p * t * c, ("1", "0.1")),
}


def named_numbers(text: str, pattern: str) -> list[float]:
    return [float(n.replace("−", "-")) for n in re.findall(pattern, text)]


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
    encoding = positions(len(engine.trace(SENTENCE).src), D_MODEL)
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


def chart(page: AppTest, key: str) -> dict[str, Any]:
    """A plotly figure as the browser gets it, which must have a text for those who do not see it."""
    (found,) = (c for c in page.get("plotly_chart") if c.key == key)
    assert len(found.proto.alt) > 40
    figure: dict[str, Any] = json.loads(found.proto.spec)
    return figure


def rows_of(page: AppTest, begins: str) -> list[list[float]]:
    """The numbers of the table whose head begins like this."""
    return [[math.inf if cell == "∞" else size(cell) for cell in line] for line in table(page, begins)]


def test_the_heatmap_of_100_positions_is_the_formula() -> None:
    page = opened(PAGE, positions_view="100 positions")
    (shown,) = chart(page, "waves")["data"]
    np.testing.assert_allclose(floats(shown["z"]), positions(100, D_MODEL), atol=5.1e-4)
    assert (shown["zmin"], shown["zmax"]) == (-1, 1)
    (table,) = page.dataframe
    np.testing.assert_allclose(table.value.to_numpy(), positions(100, D_MODEL), atol=5.1e-4)


@pytest.mark.parametrize("position", [0, 3, 9, 99])
def test_the_clock_hands_are_the_formula(position: int) -> None:
    page = opened(PAGE, sentence=SENTENCE, position=str(position))
    figure, expected = chart(page, "clocks"), positions(100, D_MODEL)
    pairs = [int(title["text"].removeprefix("pair ")) for title in figure["layout"]["annotations"]]
    assert pairs == [1, 2, 4, 8, 16, 32, 64, 128]
    others = sorted({*range(len(engine.trace(SENTENCE).src)), position})
    dimensions = np.array([[2 * pair - 2, 2 * pair - 1] for pair in pairs])  # across the sine, up the cosine
    circles, thin, bold, tips = (np.stack([floats(t["x"]), floats(t["y"])], 1) for t in figure["data"])
    bold = bold.reshape(len(pairs), 3, 2)  # of each clock the middle, the tip, a gap
    middles = bold[:, 0]
    np.testing.assert_allclose(bold[:, 1] - middles, expected[position, dimensions], atol=1e-6)
    np.testing.assert_allclose(tips, bold[:, 1])
    thin = thin.reshape(len(others), len(pairs), 3, 2)
    assert (thin[:, :, 0] == middles).all()
    np.testing.assert_allclose(thin[:, :, 1] - middles, expected[others][:, dimensions], atol=1e-6)
    rims = circles.reshape(len(pairs), -1, 2)[:, :-1] - middles[:, None]
    np.testing.assert_allclose(np.hypot(rims[..., 0], rims[..., 1]), 1)
    for pair, angle, sine, cosine in rows_of(page, "pair"):
        assert angle == pytest.approx(position / 10000 ** ((2 * pair - 2) / D_MODEL), abs=6e-5)
        assert [sine, cosine] == pytest.approx(expected[position, [2 * int(pair) - 2, 2 * int(pair) - 1]], abs=6e-5)


@pytest.mark.parametrize(
    ("rule", "constant"),
    [(rule, c) for rule, (*_, constants) in CANDIDATES.items() for c in constants],
)
def test_the_curve_of_a_simpler_rule_is_the_rule(rule: str, constant: str) -> None:
    number, following, _ = CANDIDATES[rule]
    page = opened(PAGE, rule=rule, **{f"constant_{number}": constant})
    c, expected = float(constant.replace("−", "-")), [1.0]
    for t in range(1, 20):
        expected.append(following(expected[-1], t, c))
    (curve,) = chart(page, "candidate_figure")["data"]
    assert floats(curve["x"]).tolist() == list(range(1, 21))
    shown = floats(curve["y"])
    drawn = [np.nan if math.isinf(v) else min(max(v, -1e6), 1e6) for v in expected]  # beyond lies outside the picture
    np.testing.assert_allclose(shown, drawn)
    for (t, value), true in zip(rows_of(page, "t"), expected, strict=True):
        assert value == pytest.approx(true, rel=0.06, abs=6e-4), t


def test_the_curves_of_sine_and_cosine_are_the_formula() -> None:
    page = opened(PAGE, rule="sine and cosine")
    curves = chart(page, "candidate_figure")["data"]
    dimensions = [int(curve["name"].removeprefix("dimension ")) - 1 for curve in curves]
    shown = np.stack([floats(curve["y"]) for curve in curves], axis=1)
    np.testing.assert_allclose(shown, positions(21, D_MODEL)[1:, dimensions], atol=1e-6)
    np.testing.assert_allclose(np.array(rows_of(page, "t"))[:, 1:], shown, atol=6e-4)


def test_what_is_cut_is_said() -> None:
    many = " ".join([SENTENCE] * 9)
    n = len(engine.trace(many).src)
    assert f"those of the pieces (the first 40 of {n})" in markdown(opened(PAGE, sentence=many))
    page = opened(PAGE, sentence=many, positions_view="Products")
    assert values(page, "products").shape == (40, 40)
    assert f"the positions of the first 40 of {n} pieces" in markdown(page)


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
