"""The lesson on Add & Norm: a deep stack, two norms, and what it asks."""

from pages.blocks.add_and_norm.lesson import LESSON

__all__ = ["LESSON"]
