"""Cells that one paints in the lesson on fewer pairs, and the rank of weights by hand."""

import numpy as np
import pytest

from experiments.attention.rank import spectrum
from tests.pages.kit import choose_in, opened
from tests.pages.test_addresses import address


@pytest.mark.parametrize(
    ("reader", "cell", "bits"), [("GPT", (2, 1), 1 << 25), ("GPT", (1, 2), 0), ("Translator", (1, 2), 1 << 14)]
)
def test_a_click_hides_a_pair_but_for_the_future_and_another_brings_it_back(
    reader: str, cell: tuple[int, int], bits: int
) -> None:
    app = opened("fewer-pairs", pairs_trial="By hand", reader=reader)
    for hidden in (f"{bits:x}" if bits else "", ""):
        (map_,) = (one for one in app.get("bidi_component") if one.key == "do_by_hand")
        choose_in(app, map_, *cell)
        assert address(app).get("hidden", "") == hidden
        app.query_params.pop("hidden", None)  # what a browser sends that has not heard of it


def test_a_sum_of_two_products_has_two_singular_values() -> None:
    weights = 3 * np.outer([0.6, 0.8, 0, 0], [1, 0, 0]) + np.outer([0.8, -0.6, 0, 0], [0, 0, 1])
    sizes, needed, errors = spectrum(weights, np.eye(3))
    assert sizes == pytest.approx([3, 1, 0], abs=1e-12)
    assert needed == 1  # 9 of 10 hold 90%
    assert errors == pytest.approx([1, 1 / np.sqrt(10), 0, 0], abs=1e-12)
