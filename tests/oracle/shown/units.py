"""The hidden units of a feed-forward network that a page shows."""

import numpy as np

from tests.oracle.language.common import layer_of
from tests.oracle.language.page import READABLE, Page
from tests.oracle.passes.forward import Forward

SHOWN = 16  # units or dimensions


def path(page: Page) -> str:
    """Of the network in the chosen layer."""
    return f"{layer_of(page).path}.feed_forward"


def shown_units(page: Page, oracle: Forward) -> list[int]:
    """Of each piece the units that fire most: about sixteen in all, none twice."""
    hidden = oracle[f"{path(page)}.hidden"][:READABLE]
    units: list[int] = []
    for row in hidden:
        best = np.argsort(-row, kind="stable")[: max(1, SHOWN // len(hidden))]
        units += [int(unit) for unit in best if row[unit] > 0 and unit not in units]
    return units
