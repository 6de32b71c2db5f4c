"""Numbers that sum up an attention map, or compare two vectors."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def softmax(logits: Array) -> Array:
    """Softmax over the last axis, in float64; rows add up to 1."""
    powers = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def entropy_bits(weights: Array) -> Array:
    """Entropy of each row of weights (…,T,S), in bits: 0 for one sure choice, log₂ S for no preference at all."""
    safe = np.where(weights > 0, weights, 1.0)
    return -(weights * np.log2(safe)).sum(-1)


def softmax_slope(weights: Array) -> Array:
    """Largest slope of each row's softmax, ∂αⱼ/∂sⱼ = αⱼ(1 − αⱼ), for weights (…,T,S): between 0 and 1/4.

    Close to 0 the softmax is saturated: changing a score changes next to nothing, and training gets no signal.
    """
    return (weights * (1 - weights)).max(-1)


def cosine(one: Array, two: Array) -> float:
    """Cosine of the angle between two vectors (D): 1 for the same direction, 0 for a right angle."""
    one, two = one.astype(np.float64), two.astype(np.float64)
    return float(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)))
