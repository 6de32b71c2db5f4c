"""How prompts are drawn, and the other ways to guess, each beside another computation of it."""

import numpy as np
import pytest
import torch

from training.loop.in_context import Regression, least_squares, nearest_neighbours, zero

REGRESSION = Regression(d=3, n_pairs=11, sigma=0.5)


def drawn(n: int, regression: Regression = REGRESSION, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    prompts = regression.prompts(n, torch.Generator().manual_seed(seed))
    return prompts["x"].double().numpy(), prompts["y"].double().numpy()


def test_prompts_have_the_moments_that_are_promised() -> None:
    """Each has one β. y has the variance 1 + σ², two y of a prompt the covariance of their xᵀβ: 0 over all x."""
    x, y = drawn(20_000)
    assert (x.shape, y.shape) == ((20_000, 11, 3), (20_000, 11))
    assert (x.mean(), x.std()) == pytest.approx((0, 1), abs=0.01)
    assert y.mean() == pytest.approx(0, abs=0.02)
    assert y.var() == pytest.approx(1.25, abs=0.03)
    quiet_x, quiet_y = drawn(2000, Regression(3, 11, 0.0))
    beta = np.linalg.lstsq(quiet_x[0], quiet_y[0])[0]
    assert quiet_x[0] @ beta == pytest.approx(quiet_y[0], abs=1e-5), "without noise one β explains all pairs"
    betas = np.stack([np.linalg.lstsq(a, b)[0] for a, b in zip(quiet_x, quiet_y, strict=True)])
    assert betas.T @ betas / len(betas) == pytest.approx(np.eye(3) / 3, abs=0.03)


def test_x_and_the_rule_can_be_longer_than_in_training() -> None:
    """The same random numbers, each times its size; ridge is told how long the rule is."""
    x, y = drawn(5, Regression(3, 11, 0.0))
    longer_x, longer_y = drawn(5, Regression(3, 11, 0.0, x_size=2.0, beta_size=3.0))
    assert longer_x == pytest.approx(2 * x, abs=1e-5)
    assert longer_y == pytest.approx(6 * y, abs=1e-4)
    assert Regression(3, 11, 0.5, beta_size=2.0).penalty == pytest.approx(0.75 / 4)
    noise, same = (
        drawn(5, Regression(3, 11, 0.5, **sizes))[1] - drawn(5, Regression(3, 11, 0.0, **sizes))[1]
        for sizes in ({}, {"x_size": 2.0, "beta_size": 3.0})
    )
    assert same == pytest.approx(noise, abs=1e-5), "the noise stays as it is"


def test_the_generator_alone_draws_the_prompts() -> None:
    assert (drawn(2, seed=1)[0] == drawn(2, seed=1)[0]).all()
    assert (drawn(2, seed=1)[0] != drawn(2, seed=2)[0]).any()


def test_ridge_is_what_bayes_rule_expects() -> None:
    """Beside many β drawn from the prior, each weighted by how likely it makes the pairs."""
    rng = np.random.default_rng(5)
    x, y, asked = rng.normal(size=(1, 4, 2)), rng.normal(size=(1, 4)), rng.normal(size=(1, 2))
    beta = rng.normal(size=(400_000, 2)) / np.sqrt(2)
    log_likelihood = -(((y[0] - beta @ x[0].T) ** 2).sum(1)) / (2 * 0.5**2)
    weight = np.exp(log_likelihood - log_likelihood.max())
    expected = (weight * (beta @ asked[0])).sum() / weight.sum()
    assert Regression(2, 5, 0.5).ridge(x, y, asked) == pytest.approx([expected], abs=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_least_squares_is_numpys(n: int) -> None:
    x, y = drawn(6)
    expected = [x[i, n] @ np.linalg.lstsq(x[i, :n], y[i, :n])[0] for i in range(6)]
    assert least_squares(x[:, :n], y[:, :n], x[:, n]) == pytest.approx(expected, abs=1e-9)


def test_neighbours_by_hand() -> None:
    x, y = np.array([[[0.0], [1.0], [5.0], [6.0], [9.0]]]), np.array([[10.0, 20.0, 30.0, 60.0, 90.0]])
    assert nearest_neighbours(x, y, np.array([[4.0]])) == pytest.approx([(20 + 30 + 60) / 3])
    assert nearest_neighbours(x, y, np.array([[9.0]]), n=1) == pytest.approx([90])
    assert nearest_neighbours(x[:, :2], y[:, :2], np.array([[9.0]])) == pytest.approx([15]), "fewer than three"


def test_without_examples_all_but_ridge_of_none_say_zero() -> None:
    x, y = drawn(4)
    for guess in (REGRESSION.ridge, least_squares, nearest_neighbours, zero):
        assert guess(x[:, :0], y[:, :0], x[:, 0]).tolist() == [0.0] * 4
