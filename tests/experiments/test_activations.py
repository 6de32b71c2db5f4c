"""Curves and slopes of activations, against answers worked out by hand."""

import math

import numpy as np
import pytest

from experiments.blocks.activations import CURVES, GATES, curve, share_at_rest


@pytest.mark.parametrize(
    ("kind", "z", "value", "slope"),
    [
        ("relu", -3, 0, 0),
        ("relu", 2, 2, 1),
        ("gelu", 0, 0, 0.5),
        ("gelu", 1, 0.841345, 1.083316),  # Φ(1) = 0.841345, φ(1) = 0.241971
        ("silu", 0, 0, 0.5),
        ("silu", math.log(3), 0.75 * math.log(3), 0.75 + math.log(3) * 0.75 * 0.25),  # σ(ln 3) = 3/4
        ("gelu_tanh", 0, 0, 0.5),
    ],
)
def test_a_curve_and_its_slope(kind: str, z: float, value: float, slope: float) -> None:
    values, slopes = curve(kind, np.array([float(z)]))
    assert float(values[0]) == pytest.approx(value, abs=1e-6)
    assert float(slopes[0]) == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("kind", [*CURVES, *GATES])
def test_a_slope_is_how_much_the_curve_grows(kind: str) -> None:
    z, tiny = np.array([-3.7, -1.1, -0.3, 0.2, 0.9, 2.3]), 1e-6
    rise = (curve(kind, z + tiny)[0] - curve(kind, z - tiny)[0]) / (2 * tiny)
    assert np.allclose(curve(kind, z)[1], rise, atol=1e-6)


def test_units_at_rest_are_counted() -> None:
    hidden = np.array([0.0, 0.0, -0.005, 0.02, 3.0])
    assert share_at_rest(hidden) == 0.4
    assert share_at_rest(hidden, 0.01) == 0.6
