"""The loss of a letter, worked out by hand."""

import math

import numpy as np
import pytest

from explain import Numbers, worked
from model.anatomy.structure import Anatomy, Made


def test_the_loss_of_a_right_letter_by_hand() -> None:
    """Logits 1, 2, 0 and the first is right: less the largest −1, 0, −2, whose powers of e add up to 1.5032."""
    made = {"losses": Made("cross_entropy", ("logits",), (), ("labels", "one"), (0.0,))}
    loss = math.log(math.exp(-1) + 1 + math.exp(-2)) + 1
    tensors = {"logits": np.array([[1.0, 2.0, 0.0]], np.float32), "losses": np.array([[loss]], np.float32)}
    step = worked(Numbers(tensors, {}, Anatomy((), made, {})), "losses", (0, 0))
    assert step.value == pytest.approx(1.4076, abs=5e-5)
    assert step.formula == r"-\ln P = \ln(1.5032) - (1.0000 - 2.0000) = 1.4076"
    assert step.says == (
        "The loss of row 1 is minus the logarithm of P, the probability of the right piece. Softmax makes P of the 3 "
        "logits of the row, a score for each piece. The largest of them, 2.0000, is first taken off all. Then the loss "
        "is the logarithm of the sum of e to the power of each, less the right piece's own."
    )
    assert step.blank
    assert step.blank.formula == r"\ln(1.5032)"
    assert step.blank.answer == pytest.approx(0.4076, abs=5e-5)


def test_the_smoothed_loss_by_hand() -> None:
    """The same logits, ε 0.3: −ln P is 1.4076, 0.4076 and 2.4076, so the mean of all is 1.4076 too, by chance."""
    made = {"smoothed_losses": Made("smoothed_cross_entropy", ("logits",), (), ("labels", "one"), (0.3, 1.0))}
    total = math.log(math.exp(-1) + 1 + math.exp(-2))
    loss = 0.7 * total + 0.3 * (total + 1)
    tensors = {"logits": np.array([[1.0, 2.0, 0.0]], np.float32), "smoothed_losses": np.array([[loss]], np.float32)}
    step = worked(Numbers(tensors, {}, Anatomy((), made, {})), "smoothed_losses", (0, 0))
    assert step.value == pytest.approx(0.7076, abs=5e-5)
    assert step.formula == r"0.7\cdot 0.4076 + 0.3\cdot 1.4076 = 0.7076"
    assert step.says == (
        "With label smoothing the right piece of row 1 counts only 0.7. The other 0.3 is shared by all 3 pieces alike. "
        "So it multiplies the mean of −ln P over all of them."
    )
    assert step.blank
    assert step.blank.formula == r"0.7\cdot 0.4076"
    assert step.blank.answer == pytest.approx(0.2853, abs=5e-5)
