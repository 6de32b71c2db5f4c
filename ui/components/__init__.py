"""The two components every page draws matrices with: `matrix` and `head_grid`."""

from ui.components.head_grid import head_grid
from ui.components.matrix import matrix

__all__ = ["head_grid", "matrix"]
